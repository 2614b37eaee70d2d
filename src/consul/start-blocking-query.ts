import { type BackoffOptions, backoffDelayMs } from "../base/backoff.ts";
import { errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import type { ConsulClient } from "./create-consul-client.ts";

export interface BlockingQueryOptions {
  readonly client: ConsulClient;
  readonly path: string;
  readonly log: Logger;
  /** Awaited: the next question is asked when this one is dealt with. */
  onAnswer(body: unknown): void | Promise<void>;
  /** The first failure after success; undefined when it works again. */
  onFailure?(failure: Error | undefined): void;
  /** Before it starts over: indexes that were seen may belong to a server that is gone, or to a state before a restore. */
  onRestart?(): void;
  /** What an absent path reads as. */
  readonly whenAbsent?: unknown;
  readonly waitMs?: number;
}

export interface BlockingQuery extends Handle {
  /** When Consul last answered, by `Date.now`; undefined before the first time. */
  answeredAt(): number | undefined;
}

const WAIT_MS = 5 * 60_000;
const BACKOFF: BackoffOptions = { initialMs: 500, maxMs: 30_000, factor: 2, jitter: 0.5 };
/** Between two answers, and for each megabyte of the last: a busy path of a large catalog must not take all of a core. */
const PAUSE_MS = 50;
const MEGABYTE = 1_000_000;

/** Calls with the first answer and after each change, until stopped. */
export function startBlockingQuery(options: BlockingQueryOptions): BlockingQuery {
  const { client, path, log, onAnswer, onFailure, onRestart, waitMs = WAIT_MS } = options;
  const ending = new AbortController();
  const { signal } = ending;
  let answeredAt: number | undefined;
  const run = async () => {
    let index = 0;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const absent = "whenAbsent" in options ? { whenAbsent: options.whenAbsent } : {};
        const answer = await client.get(path, { index, waitMs, signal, ...absent });
        answeredAt = Date.now();
        if (failures > 0) onFailure?.(undefined);
        failures = 0;
        const before = index;
        index = nextIndex(before, answer.index);
        if (index === 0) onRestart?.();
        // A wait that ran out answers with the same index, and nothing has changed.
        if (answer.index !== before || before === 0) await onAnswer(answer.body);
        await wait(PAUSE_MS * Math.max(1, answer.length / MEGABYTE), signal);
      } catch (thrown) {
        if (signal.aborted) return;
        failures += 1;
        index = 0;
        onRestart?.();
        if (failures === 1) {
          log.warn("Consul cannot be read, the last state stays", { path, error: errorMessage(thrown) });
          onFailure?.(thrown instanceof Error ? thrown : new Error(String(thrown)));
        }
        await wait(backoffDelayMs(BACKOFF, failures), signal);
      }
    }
  };
  const running = run();
  return toHandle({
    answeredAt: () => answeredAt,
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      ending.abort();
      await running;
    },
  });
}

/** An index that went backwards (a restored or new server) must be forgotten, or changes are missed until it is reached again. */
export function nextIndex(before: number, answered: number): number {
  if (answered < before) return 0;
  return Math.max(answered, 1);
}
