import type { DeltaDiscoveryRequest, DiscoveryRequest } from "../protobuf/wire/discovery.ts";
import { hasExactly, type NameList } from "./name-list.ts";

/** Why a client rejected a response: google.rpc.Status of a NACK. */
export interface Nack {
  readonly code: number;
  readonly message: string;
}

/** One client's subscription to one type, and how far it has come. Knows nothing of gRPC and of resources. */
export interface Subscription {
  /** Everything there is, not only the names. */
  readonly isWildcard: boolean;
  readonly names: NameList;
  /** Empty before the first response. */
  readonly nonceSent: string;
  readonly nonceAcked: string;
  readonly versionSent: string;
  readonly versionAcked: string;
  /** Undefined once the client has ACKed a later response. */
  readonly error: Nack | undefined;
  readonly sentAt: number;
}

/** What a request leads to. */
export interface Decision {
  /** Undefined: the client is not subscribed to the type any more. */
  readonly subscription: Subscription | undefined;
  readonly event: "subscribed" | "changed" | "acked" | "nacked" | "stale" | "unsubscribed";
  /** Names must be answered even when the client was sent the same before. */
  readonly answer: "nothing" | "everything" | readonly string[];
}

export interface SubscriptionRules {
  /** The type is subscribed to by name: there is no wildcard, and a SotW request without names unsubscribes. */
  readonly needsNames: boolean;
  readonly toNameList: (names: readonly string[]) => NameList;
  /** SotW: a NACK changes no names, and as the first request it subscribes to nothing. */
  readonly ignoresNackedNames?: boolean;
}

export function createSubscription(isWildcard: boolean, names: NameList): Subscription {
  return {
    isWildcard,
    names,
    nonceSent: "",
    nonceAcked: "",
    versionSent: "",
    versionAcked: "",
    error: undefined,
    sentAt: 0,
  };
}

export function withSent(
  subscription: Subscription,
  sent: { readonly nonce: string; readonly version: string; readonly now: number },
): Subscription {
  return { ...subscription, nonceSent: sent.nonce, versionSent: sent.version, sentAt: sent.now };
}

function withAck(subscription: Subscription): Subscription {
  const { nonceSent, versionSent } = subscription;
  return { ...subscription, nonceAcked: nonceSent, versionAcked: versionSent, error: undefined };
}

export type SyncState = "NOT_SENT" | "SYNCED" | "STALE" | "ERROR";

export function syncState(subscription: Subscription | undefined): SyncState {
  if (subscription === undefined || subscription.nonceSent === "") return "NOT_SENT";
  if (subscription.error !== undefined) return "ERROR";
  return subscription.nonceAcked === subscription.nonceSent ? "SYNCED" : "STALE";
}

/** What a request of either protocol leads to. */
export function nextSubscription(
  before: Subscription | undefined,
  request: DiscoveryRequest | DeltaDiscoveryRequest,
  rules: SubscriptionRules,
): Decision {
  const { responseNonce: nonce, errorDetail } = request;
  const error = errorDetail && { code: errorDetail.code ?? 0, message: errorDetail.message ?? "" };
  if ("resourceNames" in request) return nextSotw(before, { names: request.resourceNames, nonce, error }, rules);
  const { resourceNamesSubscribe: subscribe, resourceNamesUnsubscribe: unsubscribe } = request;
  return nextDelta(before, { subscribe, unsubscribe, held: request.initialResourceVersions, nonce, error }, rules);
}

/** A state-of-the-world request, as far as it decides. */
export interface SotwRequest {
  readonly names: readonly string[];
  readonly nonce: string;
  /** Present in a NACK. */
  readonly error: Nack | undefined;
}

export function nextSotw(before: Subscription | undefined, request: SotwRequest, rules: SubscriptionRules): Decision {
  const { error, nonce } = request;
  if (error !== undefined && rules.ignoresNackedNames) {
    return { subscription: before && { ...before, error }, event: "nacked", answer: "nothing" };
  }
  // Lists without the star stay the values they are: see `hasExactly`.
  const names = request.names.includes("*") ? request.names.filter((name) => name !== "*") : request.names;
  const isWildcard = !rules.needsNames && (names.length === 0 || names.length < request.names.length);
  if (rules.needsNames && names.length === 0) {
    // A client that sends a NACK still waits for another response.
    if (before === undefined || error === undefined) {
      return { subscription: undefined, event: "unsubscribed", answer: "nothing" };
    }
    return { subscription: { ...before, error }, event: "nacked", answer: "nothing" };
  }
  // A nonce of another server's stream means as little as none.
  if (before === undefined || nonce === "") {
    const fresh = createSubscription(isWildcard, rules.toNameList(names));
    return { subscription: { ...fresh, error }, event: "subscribed", answer: "everything" };
  }
  if (nonce !== before.nonceSent) {
    // A later response is on its way; with its ACK the client repeats its names.
    const subscription = error === undefined ? before : { ...before, error };
    return { subscription, event: error === undefined ? "stale" : "nacked", answer: "nothing" };
  }
  const settled = error === undefined ? withAck(before) : { ...before, error };
  if (isWildcard === before.isWildcard && hasExactly(before.names, names)) {
    return { subscription: settled, event: error === undefined ? "acked" : "nacked", answer: "nothing" };
  }
  const added = names.filter((name) => !before.names.has(name));
  const becomesWildcard = isWildcard && !before.isWildcard;
  // A NACK may carry new names as well: the client folds both into one request.
  return {
    subscription: { ...settled, isWildcard, names: rules.toNameList(names) },
    event: error === undefined ? "changed" : "nacked",
    answer: becomesWildcard ? "everything" : added.length > 0 ? added : "nothing",
  };
}

/** An incremental request, as far as it decides. */
export interface DeltaRequest {
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** `initial_resource_versions`: what the client has from an earlier stream, versions by name. */
  readonly held: ReadonlyMap<string, string>;
  readonly nonce: string;
  readonly error: Nack | undefined;
}

export function nextDelta(before: Subscription | undefined, request: DeltaRequest, rules: SubscriptionRules): Decision {
  const named = request.subscribe.filter((name) => name !== "*");
  if (before === undefined) return firstDelta(named, request, rules);
  const removed = new Set(request.unsubscribe);
  const startsWildcard = !rules.needsNames && request.subscribe.includes("*");
  const isSame =
    named.every((name) => before.names.has(name)) && !request.unsubscribe.some((name) => before.names.has(name));
  const names = isSame
    ? before.names
    : rules.toNameList([...before.names.list, ...named].filter((name) => !removed.has(name)));
  // Also names that are subscribed to already: a client subscribes again because it has dropped the resource.
  const asked = named.filter((name) => !removed.has(name));
  return {
    subscription: {
      ...settled(before, request),
      isWildcard: startsWildcard || (before.isWildcard && !removed.has("*")),
      names,
    },
    event: request.error !== undefined ? "nacked" : deltaEvent(before, request),
    answer: startsWildcard && !before.isWildcard ? "everything" : asked.length > 0 ? asked : "nothing",
  };
}

function firstDelta(named: readonly string[], request: DeltaRequest, rules: SubscriptionRules): Decision {
  const removed = new Set(request.unsubscribe);
  const isWildcard = !rules.needsNames && (named.length === 0 || request.subscribe.includes("*")) && !removed.has("*");
  // Of a wildcard subscription the held names are merely what there was; of others they are subscribed to.
  const subscribed = isWildcard ? named : [...named, ...request.held.keys()];
  const names = rules.toNameList(subscribed.filter((name) => !removed.has(name)));
  return {
    subscription: { ...createSubscription(isWildcard, names), error: request.error },
    event: "subscribed",
    answer: isWildcard || names.list.length > 0 ? "everything" : "nothing",
  };
}

/** A request without nonce is not an ACK; neither is one of an older response, but what it subscribes to counts. */
function settled(before: Subscription, { error, nonce }: DeltaRequest): Subscription {
  if (error !== undefined) return { ...before, error };
  return nonce !== "" && nonce === before.nonceSent ? withAck(before) : before;
}

function deltaEvent(before: Subscription, { nonce, subscribe, unsubscribe }: DeltaRequest): Decision["event"] {
  if (nonce !== "" && nonce !== before.nonceSent) return "stale";
  return subscribe.length + unsubscribe.length > 0 ? "changed" : "acked";
}
