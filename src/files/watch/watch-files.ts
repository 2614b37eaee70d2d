import { type FSWatcher, watch } from "node:fs";
import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { type WatchPoint, watchPlan } from "./watch-plan.ts";

export interface WatchFilesOptions {
  readonly paths: readonly string[];
  /** Time from the first event until the files are looked at: one atomic swap is several events. */
  readonly debounceMs: number;
  readonly log: Logger;
  /** Counts a watch that could not be added. */
  onFailure(): void;
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
    options.onFailure();
    const level = failures === 1 ? "warn" : "debug";
    options.log[level]("file watch failed, trying again", { path, error: errorMessage(failure) });
    looks.within(backoffDelayMs(RETRY, failures));
  }

  await follow();
  return {
    stop: async () => {
      const idle = looks.stop();
      watches.close();
      await idle;
    },
  };
}

/** The open watches, kept equal to the plan applied last. */
class WatchSet {
  readonly #open = new Map<string, { readonly watcher: FSWatcher; readonly identity: string }>();
  #plan: ReadonlyMap<string, WatchPoint> = new Map();
  readonly #onEvent: () => void;
  readonly #onFailure: (path: string, failure: unknown) => void;

  constructor(onEvent: () => void, onFailure: (path: string, failure: unknown) => void) {
    this.#onEvent = onEvent;
    this.#onFailure = onFailure;
  }

  /** True when a watch was opened or closed, that is when something may have happened unseen. */
  apply(plan: ReadonlyMap<string, WatchPoint>): boolean {
    this.#plan = plan;
    let changed = false;
    for (const [path, { identity }] of this.#open) {
      if (plan.get(path)?.identity === identity) continue;
      this.#remove(path);
      changed = true;
    }
    for (const point of plan.values()) {
      if (!this.#open.has(point.path)) changed = this.#add(point) || changed;
    }
    return changed;
  }

  close(): void {
    for (const path of [...this.#open.keys()]) this.#remove(path);
  }

  #add({ path, identity }: WatchPoint): boolean {
    try {
      const watcher = watch(path, { persistent: false }, (_event, entry) => {
        const entries = this.#plan.get(path)?.entries;
        if (entries === undefined || entry === null || entries.has(entry)) this.#onEvent();
      });
      watcher.on("error", (failure) => {
        this.#remove(path);
        this.#onFailure(path, failure);
      });
      this.#open.set(path, { watcher, identity });
      return true;
    } catch (failure) {
      this.#onFailure(path, failure);
      return false;
    }
  }

  #remove(path: string): void {
    this.#open.get(path)?.watcher.close();
    this.#open.delete(path);
  }
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
