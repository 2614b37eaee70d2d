import { createHash } from "node:crypto";
import { readdir, readFile, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { makeProxyDirectory, writeProxyFile } from "../../base/proxy-file.ts";
import type { Snapshot } from "./core/snapshot.ts";
import { decodeSnapshotFile, encodeSnapshotFile, type SnapshotFile } from "./core/snapshot-file.ts";

export interface SnapshotStore {
  readonly path: string;
  /** Undefined when there is none; one that cannot be used is told once and left alone. */
  load(): Promise<SnapshotFile | undefined>;
  save(snapshot: Snapshot, savedAt: number): Promise<void>;
  remove(): Promise<void>;
}

const SUFFIX = ".last-good";
/** A directory that outlives many pods keeps the newest. */
const MAX_FILES = 16;

/** One file per node in the directory, for this user only. */
export function createSnapshotStore(directory: string, nodeId: string, log: Logger): SnapshotStore {
  const path = join(directory, `${createHash("sha256").update(nodeId).digest("hex").slice(0, 32)}${SUFFIX}`);
  return {
    path,
    async load() {
      try {
        return decodeSnapshotFile(await readFile(path), nodeId);
      } catch (failure) {
        if (errorCode(failure) !== "ENOENT") {
          log.warn(`ignoring the last known good configuration in ${path}: ${errorMessage(failure)}`);
        }
        return undefined;
      }
    },
    async save(snapshot, savedAt) {
      await makeProxyDirectory(directory, { access: "private" });
      await writeProxyFile(path, encodeSnapshotFile({ nodeId, savedAt, snapshot }), { access: "private" });
      await removeOldest(directory);
    },
    remove: () => unlink(path).catch(() => undefined),
  };
}

async function removeOldest(directory: string): Promise<void> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(SUFFIX));
  if (names.length <= MAX_FILES) return;
  const dated = await Promise.all(
    names.map(async (name) => ({ name, at: (await stat(join(directory, name)).catch(() => undefined))?.mtimeMs ?? 0 })),
  );
  const old = dated.toSorted((a, b) => b.at - a.at).slice(MAX_FILES);
  await Promise.all(old.map(({ name }) => unlink(join(directory, name)).catch(() => undefined)));
}
