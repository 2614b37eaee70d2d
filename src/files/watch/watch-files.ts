import { startAlignedInterval } from "../../base/aligned-interval.ts";
import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { watchPlan } from "./watch-plan.ts";
import { WatchSet } from "./watch-set.ts";

export interface WatchFilesOptions {
  /** Files, or directories of which every entry counts. */
  readonly paths: readonly string[];
  /** Time from the first event until the files are looked at: one atomic swap is several events. */
  readonly debounceMs: number;
  readonly log: Logger;
  /** Also without an event the files are looked at this often: not every volume reports changes. */
  readonly rescanMs?: number;
  /** Counts a watch that could not be added. */
  onFailure?(): void;
  /** Something about the files may have changed. Calls do not overlap. */
  onEvent(): Promise<void>;
}

export interface FileWatch {
  /** Idempotent. No watch, timer or running callback is left. */
  stop(): Promise<void>;
}

/** For watches that cannot be added, such as when the user's inotify limit is reached; each retry also looks at the files. */
const RETRY: BackoffOptions = { initialMs: 500, maxMs: 60_000, factor: 1.5, jitter: 0.5 };
/** Rounds to catch up with a path that changes while it is being followed. */
const MAX_ROUNDS = 10;

/**
 * Follows files through in-place writes, renames, replaced directories, re-targeted links at any level and absence. When the promise
 * resolves the watches are set: what changes later is reported.
 */
export async function watchFiles(options: WatchFilesOptions): Promise<FileWatch> {
  const looks = createLooks(look);
  const watches = new WatchSet(() => looks.within(options.debounceMs), failed);
  let failures = 0;

  async function look(): Promise<void> {
    try {
      await follow();
      if (!looks.stopped) await options.onEvent();
    } catch (failure) {
      options.log.error("looking at changed files failed", { paths: options.paths, error: errorMessage(failure) });
    }
  }

  /** Sets the watches that the current state of the file system asks for, until that state holds still. */
  async function follow(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const plan = watchPlan(options.paths);
      if (looks.stopped || !watches.apply(plan)) return;
    }
  }

  function failed(path: string, failure: unknown): void {
    if (looks.stopped) return;
    if (errorCode(failure) === "ENOENT") {
      looks.within(options.debounceMs); // gone between planning and watching: the next plan knows
      return;
    }
    failures += 1;
    options.onFailure?.();
    const level = failures === 1 ? "warn" : "debug";
    options.log[level]("file watch failed, trying again", { path, error: errorMessage(failure) });
    looks.within(backoffDelayMs(RETRY, failures));
  }

  await follow();
  const rescan =
    options.rescanMs === undefined ? undefined : startAlignedInterval(() => looks.within(0), options.rescanMs);
  return {
    stop: async () => {
      rescan?.stop();
      const idle = looks.stop();
      watches.close();
      await idle;
    },
  };
}

/** Runs `look` one at a time; asking during a look causes another one, and the earliest asked-for time counts. */
function createLooks(look: () => Promise<void>) {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let dueMs = Number.POSITIVE_INFINITY;
  let running = Promise.resolve();

  function run(): void {
    timer = undefined;
    dueMs = Number.POSITIVE_INFINITY;
    running = running.then(() => (stopped ? undefined : look()));
  }

  return {
    get stopped() {
      return stopped;
    },
    within: (delayMs: number) => {
      const due = performance.now() + delayMs;
      if (stopped || due >= dueMs) return;
      clearTimeout(timer);
      dueMs = due;
      timer = setTimeout(run, delayMs);
    },
    stop: () => {
      stopped = true;
      clearTimeout(timer);
      return running;
    },
  };
}
