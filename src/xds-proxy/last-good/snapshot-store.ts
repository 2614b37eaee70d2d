import { createHash } from "node:crypto";
import { readdir, readFile, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { makeProxyDirectory, writeProxyFile } from "../../files/proxy-file.ts";
import type { Snapshot } from "./core/snapshot.ts";
import { decodeSnapshotFile, encodeSnapshotFile, type SnapshotFile } from "./core/snapshot-file.ts";

export interface SnapshotStore {
  readonly path: string;
  /** Undefined when there is none; one that cannot be used is logged once and left alone. */
  load(): Promise<SnapshotFile | undefined>;
  save(snapshot: Snapshot, savedAt: number): Promise<void>;
  remove(): Promise<void>;
}

const SUFFIX = ".last-good";
/** What a run that was killed while it wrote has left. */
const UNFINISHED = /^\.[0-9a-f]{32}\.last-good\.[0-9a-z]+\.tmp$/;
/** No write takes that long. */
const UNFINISHED_MS = 60_000;
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
  const names = await readdir(directory);
  const finished = names.filter((name) => name.endsWith(SUFFIX));
  const unfinished = names.filter((name) => UNFINISHED.test(name));
  if (finished.length <= MAX_FILES && unfinished.length === 0) return;
  const changedAt = async (name: string) => (await stat(join(directory, name)).catch(() => undefined))?.mtimeMs ?? 0;
  const dated = (some: readonly string[]) =>
    Promise.all(some.map(async (name) => ({ name, at: await changedAt(name) })));
  const newestFirst = (await dated(finished)).toSorted((a, b) => b.at - a.at);
  const left = (await dated(unfinished)).filter(({ at }) => at < Date.now() - UNFINISHED_MS);
  const old = [...newestFirst.slice(MAX_FILES), ...left];
  await Promise.all(old.map(({ name }) => unlink(join(directory, name)).catch(() => undefined)));
}
