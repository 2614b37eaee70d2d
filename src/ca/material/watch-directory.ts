import { type FSWatcher, watch } from "node:fs";

export interface WatchOptions {
  readonly directory: string;
  /** Writers touch several files: the look waits until they have been quiet for this long. */
  readonly debounceMs: number;
  /** A directory that is replaced, or on a volume without notifications, is still looked at this often. */
  readonly pollMs: number;
  /** Must not reject. Never called twice at the same time. */
  look(): Promise<void>;
}

/** Calls `look` after changes in the directory. The returned function stops it and resolves when no look is running. */
export function watchDirectory(options: WatchOptions): () => Promise<void> {
  let watcher: FSWatcher | undefined;
  let debounce: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  let stopped = false;
  const look = () => {
    running = running.then(() => (stopped ? undefined : options.look()));
  };
  const soon = () => {
    clearTimeout(debounce);
    debounce = setTimeout(look, options.debounceMs);
  };
  const arm = () => {
    if (watcher !== undefined) return;
    try {
      watcher = watch(options.directory, soon).on("error", disarm);
    } catch {
      // Not there right now; the next poll tries again.
    }
  };
  const disarm = () => {
    watcher?.close();
    watcher = undefined;
  };
  arm();
  const poll = setInterval(() => {
    // A replaced directory leaves the watch on the old one, so it is made anew each time.
    disarm();
    arm();
    look();
  }, options.pollMs);
  return async () => {
    stopped = true;
    clearTimeout(debounce);
    clearInterval(poll);
    disarm();
    await running;
  };
}
