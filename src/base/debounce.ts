import { MAX_TIMER_MS } from "./timer-limit.ts";
export interface DebounceOptions {
  /** Quiet time before the task runs. */
  readonly quietMs: number;
  /** Runs after this time at the latest, however busy it is. */
  readonly maxWaitMs: number;
}

export interface Debounced {
  /** Something happened. */
  trigger(): void;
  /** Ends waiting; resolves when a running task is done. */
  stop(): Promise<void>;
}

/** Runs a task once per burst of events, never two at a time; events during a run lead to one more. The task must not reject. */
export function createDebounced(task: () => Promise<void>, { quietMs, maxWaitMs }: DebounceOptions): Debounced {
  let firstAt: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let stopped = false;
  const arm = () => {
    if (stopped || running !== undefined || firstAt === undefined) return;
    clearTimeout(timer);
    const left = Math.min(quietMs, firstAt + maxWaitMs - performance.now(), MAX_TIMER_MS);
    timer = setTimeout(run, Math.max(0, left));
  };
  const run = () => {
    firstAt = undefined;
    running = task().finally(() => {
      running = undefined;
      arm();
    });
  };
  return {
    trigger: () => {
      firstAt ??= performance.now();
      arm();
    },
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
