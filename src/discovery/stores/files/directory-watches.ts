import { type FSWatcher, watch } from "node:fs";
import { errorMessage } from "../../../base/coded-error.ts";
import type { Logger } from "../../../base/logger.ts";
import type { FoundDirectory } from "./list-files.ts";

export interface DirectoryWatches {
  /** Watches a directory from now on; one that took its path over is watched anew. */
  enter(directory: FoundDirectory): void;
  /** Ends the watches on directories that are not listed. */
  retain(directories: readonly FoundDirectory[]): void;
  close(): void;
}

/** One watch per directory. Where the kernel has no more of them, changes are still found by the regular look. */
export function createDirectoryWatches(onChange: () => void, log: Logger): DirectoryWatches {
  const watches = new Map<string, { readonly id: string; readonly watcher: FSWatcher | undefined }>();
  const end = (path: string) => {
    watches.get(path)?.watcher?.close();
    watches.delete(path);
  };
  const open = (path: string): FSWatcher | undefined => {
    try {
      const watcher = watch(path, onChange);
      watcher.on("error", () => {
        watcher.close();
        onChange();
      });
      return watcher;
    } catch (thrown) {
      log.warn("directory cannot be watched, changes are found by looking", { path, error: errorMessage(thrown) });
      return undefined;
    }
  };
  return {
    enter: ({ path, id }) => {
      if (watches.get(path)?.id === id) return;
      end(path);
      watches.set(path, { id, watcher: open(path) });
    },
    retain: (directories) => {
      const wanted = new Set(directories.map(({ path }) => path));
      for (const path of [...watches.keys()]) if (!wanted.has(path)) end(path);
    },
    close: () => {
      for (const path of [...watches.keys()]) end(path);
    },
  };
}
