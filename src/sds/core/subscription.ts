import { needsNames } from "../../xds/type-urls.ts";

/** What one state-of-the-world stream has asked for and been sent. */
export interface Subscription {
  /** Undefined before the first names and after an unsubscribe. */
  readonly watched: ReadonlySet<string> | undefined;
  /** The nonce sent last; empty before the first reply. */
  readonly nonce: string;
}

export interface SubscriptionRequest {
  readonly resourceNames: readonly string[];
  readonly typeUrl: string;
  readonly responseNonce: string;
  readonly isNack: boolean;
}

export type RequestOutcome =
  | { readonly action: "reply"; readonly names: readonly string[]; readonly watched: ReadonlySet<string> }
  | { readonly action: "acknowledged"; readonly watched: ReadonlySet<string> }
  | { readonly action: "unsubscribed" }
  /** Silence, and nothing changes. */
  | { readonly action: "rejected" }
  | { readonly action: "stale" };

export const NEW_SUBSCRIPTION: Subscription = { watched: undefined, nonce: "" };

/** Decides what a request means; the rules stand in the order in which they apply. Any first message is safe, even a rejection. */
export function requestOutcome(subscription: Subscription, request: SubscriptionRequest): RequestOutcome {
  if (request.isNack) return { action: "rejected" };
  const names = request.resourceNames;
  if (names.length === 0 && needsNames(request.typeUrl)) return { action: "unsubscribed" };
  const { watched, nonce } = subscription;
  const wanted = new Set(names);
  // Also a client that reconnects and still quotes the nonce of its former stream.
  if (request.responseNonce === "" || watched === undefined) return { action: "reply", names, watched: wanted };
  if (request.responseNonce !== nonce) return { action: "stale" };
  const added = [...wanted].filter((name) => !watched.has(name));
  if (added.length === 0) return { action: "acknowledged", watched: wanted };
  return { action: "reply", names: added, watched: wanted };
}
