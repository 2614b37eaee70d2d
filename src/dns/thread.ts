import { Worker } from "node:worker_threads";
import { backoffDelayMs } from "../base/backoff.ts";
import { errorMessage } from "../base/coded-error.ts";
import { wait } from "../base/wait.ts";
import type { FromThread, ThreadData, ToThread } from "./thread-messages.ts";

export interface ThreadOptions {
  readonly url: URL;
  readonly data: ThreadData;
  /** What a thread that starts, or starts again, must know. */
  readonly current: () => readonly ToThread[];
  readonly onMessage: (message: FromThread) => void;
  /** The thread ended unexpectedly. */
  readonly onDeath: (cause: string, restartMs: number) => void;
}

export interface Thread {
  send(message: ToThread): void;
  stop(): Promise<void>;
}

const RESTART = { initialMs: 100, maxMs: 30_000, factor: 2, jitter: 0.2 };
/** A thread that served this long has nothing to do with earlier failures. */
const HEALTHY_MS = 60_000;
/** A worker that is stuck is not waited for. */
const STOP_DEADLINE_MS = 2_000;

/** One worker, started again whenever it dies. */
export function startThread(options: ThreadOptions): Thread {
  const stopping = new AbortController();
  let worker: Worker | undefined;
  const live = async () => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const began = performance.now();
      const cause = await runWorker(options, (started) => {
        worker = started;
      });
      worker = undefined;
      if (stopping.signal.aborted) return;
      failures = performance.now() - began > HEALTHY_MS ? 1 : failures + 1;
      const restartMs = backoffDelayMs(RESTART, failures);
      options.onDeath(cause, restartMs);
      await wait(restartMs, stopping.signal);
    }
  };
  const lived = live();
  return {
    send(message) {
      worker?.postMessage(message);
    },
    async stop() {
      stopping.abort();
      worker?.postMessage({ type: "stop" } satisfies ToThread);
      const stuck = setTimeout(() => void worker?.terminate(), STOP_DEADLINE_MS);
      await lived;
      clearTimeout(stuck);
    },
  };
}

/** Resolves with the reason when the worker is gone; never rejects. */
function runWorker(options: ThreadOptions, onStart: (worker: Worker) => void): Promise<string> {
  return new Promise((resolve) => {
    let cause: string | undefined;
    try {
      // Options of the main thread's command line (inspector, profiles, loaders) are not for it.
      const worker = new Worker(options.url, {
        workerData: options.data,
        execArgv: [],
        name: `dns-${options.data.dnsThread}`,
      });
      worker.on("message", options.onMessage);
      worker.on("error", (failure) => {
        cause = errorMessage(failure);
      });
      worker.on("exit", (code) => resolve(cause ?? `exit code ${code}`));
      for (const message of options.current()) worker.postMessage(message);
      onStart(worker);
    } catch (failure) {
      resolve(errorMessage(failure));
    }
  });
}
