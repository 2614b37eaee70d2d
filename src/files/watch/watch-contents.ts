import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { watchFiles } from "./watch-files.ts";

export interface WatchContentsOptions {
  readonly files: readonly string[];
  /** Gets the hash of all contents: once at the start, and again when it has changed. */
  readonly onChange: (hash: string) => void;
  readonly log: Logger;
  /** From the first event to the look at the files; events in between add nothing. */
  readonly settleMs?: number;
}

const SETTLE_MS = 10_000;

/** Files that are replaced, swapped in by symbolic links or missing at first are followed. */
export function watchContents(options: WatchContentsOptions): Handle {
  const { files, onChange, log } = options;
  let sent = hashFiles(files);
  const look = async () => {
    const hash = hashFiles(files);
    if (hash === sent) return;
    sent = hash;
    onChange(hash);
  };
  const watching = watchFiles({ paths: files, debounceMs: options.settleMs ?? SETTLE_MS, log, onEvent: look });
  onChange(sent);
  return toHandle({
    ended: new Promise<void>(() => undefined),
    stop: async () => (await watching).stop(),
  });
}

/** Missing and unreadable files are left out, so that adding one to the list changes nothing until it exists. */
export function hashFiles(files: readonly string[]): string {
  const hash = createHash("sha256");
  for (const file of files) {
    try {
      hash.update(readFileSync(file));
    } catch {
      // Not there yet.
    }
  }
  return hash.digest("hex");
}
