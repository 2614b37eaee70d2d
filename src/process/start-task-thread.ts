import { Worker } from "node:worker_threads";
import { type Handle, toHandle } from "../base/handle.ts";

/** Sends a message to the thread and resolves with its answer. */
export type Ask<To, From> = (message: To) => Promise<From>;

export interface TaskThread<To, From> extends Handle {
  /** The thread is the caller's alone until `use` settles; others wait their turn. Rejects with what `use` threw, or why the thread died. */
  run<Result>(use: (ask: Ask<To, From>) => Promise<Result>): Promise<Result>;
  /** True from the first call of `stop` on. */
  readonly isStopped: boolean;
}

export interface TaskThreadOptions {
  /** A program for a worker that answers each message with one. */
  readonly url: URL;
  /** The worker's data, by which it knows that it is meant. */
  readonly data: string;
  /** A worker that needs more dies and takes its task along, not the process. */
  readonly maxHeapMb: number;
  /** Memory of a thread without tasks is given back after this long. */
  readonly idleMs: number;
}

const MAX_YOUNG_MB = 16;

/**
 * A thread for work that would hold up the one that serves. It starts with the first task, ends when there was none for `idleMs`, and has
 * one task at a time: when it dies, that one fails and the next has a new thread.
 */
export function startTaskThread<To, From>({ url, data, maxHeapMb, idleMs }: TaskThreadOptions): TaskThread<To, From> {
  let worker: Worker | undefined;
  let isStopped = false;
  let waiting = 0;
  let idle: NodeJS.Timeout | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const start = (): Worker => {
    // Options of the main thread's command line (inspector, profiles, loaders) are not for it.
    const resourceLimits = { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: MAX_YOUNG_MB };
    const started = new Worker(url, { workerData: data, execArgv: [], name: data, resourceLimits });
    const forget = () => {
      if (worker === started) worker = undefined;
    };
    return started.on("error", forget).on("exit", forget);
  };
  const endIdle = () => {
    const unused = worker;
    worker = undefined;
    void unused?.terminate();
  };
  return toHandle({
    get isStopped() {
      return isStopped;
    },
    run(use) {
      clearTimeout(idle);
      waiting++;
      const turn = last
        .then(() => {
          if (isStopped) throw new Error(`the thread ${data} is stopped`);
          worker ??= start();
          const current = worker;
          return use((message) => answerOf(current, message));
        })
        .finally(() => {
          if (--waiting === 0 && !isStopped) idle = setTimeout(endIdle, idleMs).unref();
        });
      last = turn.catch(() => undefined);
      return turn;
    },
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      isStopped = true;
      clearTimeout(idle);
      await worker?.terminate();
    },
  } satisfies Omit<TaskThread<To, From>, typeof Symbol.asyncDispose>);
}

/** Rejects when the worker dies. */
function answerOf<To, From>(worker: Worker, message: To): Promise<From> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number) => settle(() => reject(new Error(`the thread ended with code ${code}`)));
    const onError = (failure: unknown) => settle(() => reject(failure));
    const onMessage = (answer: From) => settle(() => resolve(answer));
    const settle = (act: () => void) => {
      worker.off("exit", onExit).off("error", onError).off("message", onMessage);
      act();
    };
    worker.on("exit", onExit).on("error", onError).on("message", onMessage);
    worker.postMessage(message);
  });
}
