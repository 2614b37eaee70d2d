import type { Logger } from "../base/logger.ts";
import { untilAborted, wait } from "../base/wait.ts";
import type { ObjectWatch } from "./kubernetes-source.ts";

export interface SyncWait {
  /** By what they watch, for the log. */
  readonly watches: readonly (readonly [string, ObjectWatch])[];
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
  /** How long kinds that the API server refuses to show are waited for; 10 s. */
  readonly deniedMs?: number;
  /** False: also when nothing at all is shown. */
  readonly needsSome?: boolean;
}

/** How often a start that waits says what it waits for. */
const REMIND_MS = 10_000;
const LOOK_MS = 100;
/** Waiting longer changes nothing about these; an administrator has to. */
const DENIALS = new Set(["forbidden", "not-found"]);

/**
 * Resolves when everything is known. A mesh of which a part is not known would take endpoints from proxies that still have them, so an API
 * server that is away is waited for; kinds that it refuses to show are not, after a while: the rest works without them, and they are
 * returned with the reasons. Rejects when the signal is aborted.
 */
export async function untilSynced(options: SyncWait): Promise<ReadonlyMap<string, string>> {
  const { watches, log, signal, deniedMs = 10_000, needsSome = true } = options;
  const waiting = new Map(watches);
  const ended = new AbortController();
  const all = Promise.all(watches.map(([name, { synced }]) => synced.then(() => waiting.delete(name))));
  const remind = () =>
    log.warn("objects of the API server are not read yet", {
      waiting: [...waiting.keys()].join(","),
      error: [...waiting.values()].map(problemOf).find((problem) => problem !== undefined)?.message,
    });
  const reminder = setInterval(remind, REMIND_MS);
  try {
    const isDenied = () =>
      !(needsSome && waiting.size === watches.length) &&
      [...waiting.values()].every((watch) => DENIALS.has(problemOf(watch)?.code ?? ""));
    const denied = untilLasting(isDenied, deniedMs, ended.signal);
    await Promise.race([all, denied, ...(signal ? [untilAborted(signal)] : [])]);
    signal?.throwIfAborted();
    const missing = new Map([...waiting].map(([name, watch]) => [name, problemOf(watch)?.message ?? ""]));
    for (const [name, error] of missing)
      log.error("objects are not read: the API server refuses them; the rest works, they follow when it allows them", {
        resource: name,
        error,
      });
    return missing;
  } finally {
    clearInterval(reminder);
    ended.abort();
  }
}

/** Resolves when it was true all the time for so long. */
async function untilLasting(isTrue: () => boolean, ms: number, ended: AbortSignal): Promise<void> {
  let since: number | undefined;
  while (!ended.aborted) {
    since = isTrue() ? (since ?? performance.now()) : undefined;
    if (since !== undefined && performance.now() - since >= ms) return;
    await wait(LOOK_MS, ended);
  }
}

function problemOf({ freshness }: ObjectWatch): { readonly code: string; readonly message: string } | undefined {
  const { problem, problemCode } = freshness?.() ?? {};
  return problem === undefined || problemCode === undefined ? undefined : { code: problemCode, message: problem };
}
