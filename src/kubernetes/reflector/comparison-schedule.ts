import { MAX_TIMER_MS } from "../../base/timer-limit.ts";

/** When a copy is compared with the server. Each time is spread over its second half, so that kinds and replicas do not come together. */
export interface ComparisonTimes {
  readonly everyMs: number;
  /** After a lost connection: what came back may be another history under the same versions. */
  readonly afterLossMs: number;
}

export const DEFAULT_COMPARISONS: ComparisonTimes = { everyMs: 10 * 60 * 1000, afterLossMs: 30_000 };

export interface ComparisonSchedule {
  /** The connection was lost. */
  lost(): void;
  stop(): Promise<void>;
}

export function startComparisons(times: ComparisonTimes, compare: () => Promise<unknown>): ComparisonSchedule {
  let timer: NodeJS.Timeout | undefined;
  let dueAt = Number.POSITIVE_INFINITY;
  let running: Promise<unknown> = Promise.resolve();
  let isStopped = false;
  const schedule = (ms: number) => {
    const delayMs = ms * (0.5 + Math.random() / 2);
    const at = performance.now() + delayMs;
    if (isStopped || at >= dueAt) return;
    dueAt = at;
    clearTimeout(timer);
    timer = setTimeout(run, Math.min(delayMs, MAX_TIMER_MS));
    timer.unref();
  };
  const run = () => {
    dueAt = Number.POSITIVE_INFINITY;
    running = compare().finally(() => schedule(times.everyMs));
  };
  schedule(times.everyMs);
  return {
    lost: () => schedule(times.afterLossMs),
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
