import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import type { FileWatch } from "../files/watch/watch-files.ts";
import type { FileName, FileSecrets } from "./files/file-secrets.ts";
import { watchContent } from "./files/watch-content.ts";
import type { IdentityMetrics } from "./metrics.ts";

export interface FileNameWatchesOptions {
  readonly files: FileSecrets;
  readonly debounceMs: number;
  readonly log: Logger;
  readonly metrics: IdentityMetrics;
  onChange(name: string): void;
}

/** Watches the files of a secret name while it has a subscriber, so that unused names cost nothing. */
export interface FileNameWatches {
  add(name: string, file: FileName): void;
  remove(name: string): void;
  stop(): Promise<void>;
}

export function createFileNameWatches(options: FileNameWatchesOptions): FileNameWatches {
  const watches = new Map<string, Promise<FileWatch>>();
  const closing = new Set<Promise<void>>();

  async function open(name: string, file: FileName): Promise<FileWatch> {
    const { files, debounceMs, log, metrics } = options;
    const onChange = () => options.onChange(name);
    const paths = await files.paths(file);
    const version = async () => (await files.read(name, file)).version;
    const watch = await watchContent({ paths, debounceMs, log, metrics, version, onChange });
    // The listener may have read the files before the watch was set: what changed in between would go unnoticed.
    onChange();
    return watch;
  }

  function close(watch: Promise<FileWatch>): void {
    const closed: Promise<void> = watch
      .then((opened) => opened.stop())
      .finally(() => {
        closing.delete(closed);
      });
    closing.add(closed);
  }

  return {
    add: (name, file) => {
      const opening = open(name, file).catch((failure: unknown) => {
        options.log.error("files cannot be watched", { name, error: errorMessage(failure) });
        return { stop: async () => undefined };
      });
      watches.set(name, opening);
    },
    remove: (name) => {
      const watch = watches.get(name);
      watches.delete(name);
      if (watch !== undefined) close(watch);
    },
    stop: async () => {
      for (const watch of watches.values()) close(watch);
      watches.clear();
      await Promise.all(closing);
    },
  };
}
