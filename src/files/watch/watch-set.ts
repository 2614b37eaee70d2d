import { type FSWatcher, watch } from "node:fs";
import type { WatchPoint } from "./watch-plan.ts";

/** Open watches on files and directories. Where a watch cannot be opened, or fails later, the owner is called and has to look itself. */
export class WatchSet {
  readonly #open = new Map<string, { readonly watcher: FSWatcher; readonly identity: string }>();
  #plan: ReadonlyMap<string, WatchPoint> = new Map();
  readonly #onEvent: () => void;
  readonly #onFailure: (path: string, failure: unknown) => void;

  constructor(onEvent: () => void, onFailure: (path: string, failure: unknown) => void) {
    this.#onEvent = onEvent;
    this.#onFailure = onFailure;
  }

  /** Makes the open watches those of the plan. True when one was opened or closed: something may have happened unseen. */
  apply(plan: ReadonlyMap<string, WatchPoint>): boolean {
    this.#plan = plan;
    let changed = false;
    for (const [path, { identity }] of this.#open) {
      if (plan.get(path)?.identity === identity) continue;
      this.#remove(path);
      changed = true;
    }
    for (const point of plan.values()) {
      if (!this.#open.has(point.path)) changed = this.#start(point) || changed;
    }
    return changed;
  }

  /** Every event of the path counts from now on; what has replaced it since is watched instead of it. */
  add(path: string, identity: string): void {
    if (this.#open.get(path)?.identity === identity) return;
    this.#remove(path);
    this.#start({ path, identity });
  }

  /** Closes the watches on other paths. */
  retain(paths: ReadonlySet<string>): void {
    for (const path of [...this.#open.keys()]) if (!paths.has(path)) this.#remove(path);
  }

  close(): void {
    this.retain(new Set());
  }

  #start({ path, identity }: Pick<WatchPoint, "path" | "identity">): boolean {
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
