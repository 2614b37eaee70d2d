import { createHash } from "node:crypto";
import { type FSWatcher, readFileSync, watch } from "node:fs";
import { dirname } from "node:path";
import { errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";

export interface CertificateWatcherOptions {
  readonly files: readonly string[];
  /** Gets the hash of all contents: once at the start, and again when it has changed. */
  readonly onChange: (hash: string) => void;
  readonly log: Logger;
  /** From the first event to the look at the files; events in between add nothing. */
  readonly settleMs?: number;
}

const SETTLE_MS = 10_000;

/**
 * Watches the folders of the files, since a mounted secret is replaced by swapping symbolic links above them. A folder that
 * cannot be watched is warned about and costs only its own files.
 */
export function watchCertificates(options: CertificateWatcherOptions): Handle {
  const { files, onChange, log } = options;
  const settleMs = options.settleMs ?? SETTLE_MS;
  let sent = hashFiles(files);
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    timer = undefined;
    const hash = hashFiles(files);
    if (hash === sent) return;
    sent = hash;
    onChange(hash);
  };
  const touched = () => {
    timer ??= setTimeout(look, settleMs);
  };
  const watchers = [...new Set(files.map((file) => dirname(file)))].flatMap((folder) =>
    watchFolder(folder, touched, log),
  );
  onChange(sent);
  return toHandle({
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
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

function watchFolder(folder: string, touched: () => void, log: Logger): FSWatcher[] {
  try {
    const watcher = watch(folder, touched);
    watcher.on("error", (thrown) => {
      log.warn("certificate folder is no longer watched", { folder, error: errorMessage(thrown) });
      watcher.close();
    });
    return [watcher];
  } catch (thrown) {
    log.warn("certificate folder cannot be watched", { folder, error: errorMessage(thrown) });
    return [];
  }
}
