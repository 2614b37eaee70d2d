import type { NameList } from "./name-list.ts";
import { createWatch, type Decision, type Refusal, type Watch, withAck } from "./watch.ts";

/** An incremental request, as far as it decides. */
export interface DeltaRequest {
  readonly subscribe: readonly string[];
  readonly unsubscribe: readonly string[];
  /** What the client holds from an earlier stream: versions by name. */
  readonly held: ReadonlyMap<string, string>;
  readonly nonce: string;
  readonly error: Refusal | undefined;
}

export interface DeltaContext {
  readonly needsNames: boolean;
  readonly toNameList: (names: readonly string[]) => NameList;
}

/** What to do with an incremental request. */
export function nextDeltaWatch(watch: Watch | undefined, request: DeltaRequest, context: DeltaContext): Decision {
  const named = request.subscribe.filter((name) => name !== "*");
  if (watch === undefined) return firstDecision(named, request, context);
  const gone = new Set(request.unsubscribe);
  const startsWildcard = !context.needsNames && request.subscribe.includes("*");
  const isWildcard = startsWildcard || (watch.isWildcard && !gone.has("*"));
  const settled = settle(watch, request);
  const event = request.error !== undefined ? "nacked" : eventOf(watch, request);
  const isSame = named.every((name) => watch.names.has(name)) && !watch.names.list.some((name) => gone.has(name));
  const names = isSame
    ? watch.names
    : context.toNameList([...watch.names.list, ...named].filter((name) => !gone.has(name)));
  // Also names that are subscribed already: a client asks again because it has dropped them.
  const wanted = named.filter((name) => !gone.has(name));
  return {
    watch: { ...settled, isWildcard, names },
    event,
    answer: startsWildcard && !watch.isWildcard ? "everything" : wanted.length > 0 ? wanted : "nothing",
  };
}

function firstDecision(named: readonly string[], request: DeltaRequest, context: DeltaContext): Decision {
  const gone = new Set(request.unsubscribe);
  const isWildcard = !context.needsNames && (named.length === 0 || request.subscribe.includes("*")) && !gone.has("*");
  // Of a wildcard subscription the held names are merely what there was; of others they are what is wanted.
  const kept = isWildcard ? named : [...named, ...request.held.keys()];
  const names = context.toNameList(kept.filter((name) => !gone.has(name)));
  return {
    watch: { ...createWatch(isWildcard, names), error: request.error },
    event: "subscribed",
    answer: isWildcard || names.list.length > 0 ? "everything" : "nothing",
  };
}

/** A request without nonce is no acknowledgement; one of an older answer is none either, but what it subscribes to counts. */
function settle(watch: Watch, { error, nonce }: DeltaRequest): Watch {
  if (error !== undefined) return { ...watch, error };
  return nonce !== "" && nonce === watch.nonceSent ? withAck(watch) : watch;
}

function eventOf(watch: Watch, { nonce, subscribe, unsubscribe }: DeltaRequest): Decision["event"] {
  if (nonce !== "" && nonce !== watch.nonceSent) return "stale";
  return subscribe.length + unsubscribe.length > 0 ? "changed" : "acked";
}
