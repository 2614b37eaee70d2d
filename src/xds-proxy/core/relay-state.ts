import { isForwardedType, isResponseType } from "../../xds/type-urls.ts";

/** What happens to a response: it goes to the client, the agent reads it itself, rewrites it for the client, or leaves it out. */
export type ResponseAction = "forward" | "hold" | "convert" | "drop";

/** What the agent does with types on one stream. */
export interface TypeRules {
  /** Types that are rewritten before the client sees them. */
  readonly converted: ReadonlySet<string>;
  /** Types that the agent consumes itself. */
  readonly internal: ReadonlySet<string>;
  /** The agent's own subscription to them, which one stream at a time carries. */
  readonly internalState: "never" | "subscribed" | "unsubscribed";
}

/** Everything that is decided by the type of a response is decided here. */
export function responseAction(typeUrl: string, rules: TypeRules): ResponseAction {
  if (rules.converted.has(typeUrl)) return "convert";
  if (rules.internalState !== "never" && rules.internal.has(typeUrl)) {
    return rules.internalState === "subscribed" ? "hold" : "drop";
  }
  return isForwardedType(typeUrl) ? "forward" : "drop";
}

/**
 * A response says its own type after all its resources. Where the type of its first resource is certain to be the response's, and is
 * forwarded, nothing has to wait for it.
 */
export function isForwardedEarly(typeUrl: string, rules: TypeRules): boolean {
  return isResponseType(typeUrl) && responseAction(typeUrl, rules) === "forward";
}

/** Where the relay is within the stream of responses. `pieces` and `copy` are appended to in place: they are this state's own. */
export type RelayState =
  | { readonly phase: "between" }
  /** The type is not known yet: the client has seen nothing of the response. */
  | { readonly phase: "undecided"; readonly length: number; readonly pieces: Buffer[] }
  /** Pieces go out as they come in. `copy`: they are recorded as well. */
  | { readonly phase: "forwarding"; readonly copy: Buffer[] | undefined }
  /** The agent needs all of it. */
  | { readonly phase: "collecting"; readonly action: "hold" | "convert"; readonly pieces: Buffer[] }
  | { readonly phase: "dropping" };

export const BETWEEN: RelayState = { phase: "between" };
const DROPPING: RelayState = { phase: "dropping" };
/** Of most responses, which are not recorded. */
const FORWARDING: RelayState = { phase: "forwarding", copy: undefined };

export function responseStarted(length: number): RelayState {
  return { phase: "undecided", length, pieces: [] };
}

/** The type is known. `pieces` came before that. */
export function responseDecided(action: ResponseAction, pieces: readonly Buffer[], isRecorded: boolean): RelayState {
  switch (action) {
    case "forward":
      return isRecorded ? { phase: "forwarding", copy: [...pieces] } : FORWARDING;
    case "drop":
      return DROPPING;
    default:
      return { phase: "collecting", action, pieces: [...pieces] };
  }
}
