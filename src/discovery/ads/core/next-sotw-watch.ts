import { hasExactly, type NameList } from "./name-list.ts";
import { createWatch, type Decision, type Refusal, type Watch, withAck } from "./watch.ts";

/** A state-of-the-world request, as far as it decides. */
export interface SotwRequest {
  readonly names: readonly string[];
  readonly nonce: string;
  /** Undefined unless the client refuses the last answer. */
  readonly error: Refusal | undefined;
}

export interface SotwContext {
  readonly needsNames: boolean;
  readonly toNameList: (names: readonly string[]) => NameList;
}

/** What to do with a state-of-the-world request. */
export function nextSotwWatch(watch: Watch | undefined, request: SotwRequest, context: SotwContext): Decision {
  // Lists without the star stay the values they are: see `hasExactly`.
  const asked = request.names.includes("*") ? request.names.filter((name) => name !== "*") : request.names;
  const isWildcard = !context.needsNames && (asked.length === 0 || asked.length < request.names.length);
  if (context.needsNames && asked.length === 0) {
    // Who refuses an answer still wants another one.
    if (watch === undefined || request.error === undefined) {
      return { watch: undefined, event: "unsubscribed", answer: "nothing" };
    }
    return { watch: { ...watch, error: request.error }, event: "nacked", answer: "nothing" };
  }
  // A nonce of another server's stream means as little as none.
  if (watch === undefined || request.nonce === "") {
    const fresh = createWatch(isWildcard, context.toNameList(asked));
    return { watch: { ...fresh, error: request.error }, event: "subscribed", answer: "everything" };
  }
  if (request.nonce !== watch.nonceSent) {
    // A later answer is on its way; with its acknowledgement the client repeats what it wants.
    const refused = request.error === undefined ? watch : { ...watch, error: request.error };
    return { watch: refused, event: request.error === undefined ? "stale" : "nacked", answer: "nothing" };
  }
  const settled = request.error === undefined ? withAck(watch) : { ...watch, error: request.error };
  const event = request.error === undefined ? "acked" : "nacked";
  if (isWildcard === watch.isWildcard && hasExactly(watch.names, asked)) {
    return { watch: settled, event, answer: "nothing" };
  }
  const added = asked.filter((name) => !watch.names.has(name));
  const next = { ...settled, isWildcard, names: context.toNameList(asked) };
  const everything = isWildcard && !watch.isWildcard;
  // A refusal may carry new names as well: the client folds both into one request.
  return {
    watch: next,
    event: request.error === undefined ? "changed" : "nacked",
    answer: everything ? "everything" : added.length > 0 ? added : "nothing",
  };
}
