import { createHash } from "node:crypto";
import { readdir, readFile, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { wait } from "../../base/wait.ts";
import { makeProxyDirectory, writeProxyFile } from "../../files/proxy-file.ts";
import type { XdsProtocol } from "../../xds/methods.ts";
import { type Snapshot, snapshotBytes } from "./core/snapshot.ts";
import { decodeSnapshotFile, encodeSnapshotFile, type SnapshotFile } from "./core/snapshot-file.ts";
import { Recorder } from "./recorder.ts";

const SUFFIX = ".last-good";
/** What a run that was killed while it wrote has left. */
const UNFINISHED = /^\.[0-9a-f]{32}\.last-good\.[0-9a-z]+\.tmp$/;
/** No write takes that long. */
const UNFINISHED_MS = 60_000;
/** A directory that outlives many pods keeps the newest. */
const MAX_FILES = 16;

export interface LastGoodOptions {
  readonly directory: string;
  /** Only streams of this node are recorded and served. */
  readonly nodeId: string;
  /** How long no control plane must have been reached before configuration from here is served. */
  readonly graceMs?: number;
  /** How often a control plane is looked for while configuration from here is served. */
  readonly probeEveryMs?: number;
  readonly maxBytes?: number;
  /** The least time between two writes. */
  readonly writeEveryMs?: number;
  readonly log: Logger;
}

export interface LastGood extends Handle {
  readonly nodeId: string;
  readonly probeEveryMs: number;
  /** Time of the last change, and the resources; undefined when nothing was ever accepted. */
  current(): { readonly savedAt: number; readonly snapshot: Snapshot } | undefined;
  recorder(kind: XdsProtocol): Recorder;
  /** A control plane has answered, be it with a refusal. */
  noteReachable(): void;
  /** Connections are accepted, maybe by something in front of a control plane that is gone: only the wait for a response restarts. */
  noteConnected(): void;
  noteUnreachable(): void;
  /** What is left of the grace period since no control plane could be reached; 0 or less once configuration from here may be served. */
  dueInMs(): number;
  /** How long from now a control plane that says nothing is waited for: what is left of the grace period since it said something. */
  patienceMs(): number;
  /** Resolves after that time, or when the signal aborts. */
  outOfPatience(signal: AbortSignal): Promise<void>;
  /** Resolves when any stream has reached a control plane, or when the signal aborts. */
  reachable(signal: AbortSignal): Promise<void>;
}

const DEFAULT_GRACE_MS = 5000;
/** A new connection gets this long to answer, however long nothing was heard: a quiet control plane is a healthy one. */
const LEAST_PATIENCE_MS = 1500;
const DEFAULT_PROBE_EVERY_MS = 2000;
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
const DEFAULT_WRITE_EVERY_MS = 1000;

/** The node's last accepted configuration, in memory and, in the background, on disk. */
export async function startLastGood(options: LastGoodOptions): Promise<LastGood> {
  const { nodeId, log, graceMs = DEFAULT_GRACE_MS, maxBytes = DEFAULT_MAX_BYTES } = options;
  const store = createSnapshotStore(options.directory, nodeId, log);
  const loaded = await store.load();
  const snapshot: Snapshot = loaded?.snapshot ?? new Map();
  let savedAt = loaded?.savedAt;
  let unreachableSince: number | undefined;
  let heardAt = performance.now();
  const patienceMs = () => Math.max(Math.min(LEAST_PATIENCE_MS, graceMs), graceMs - (performance.now() - heardAt));
  const waiters = new Set<() => void>();

  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let failedBefore = false;
  const write = () => {
    timer = undefined;
    const at = savedAt;
    if (at === undefined) return;
    writing = writing
      .then(() => store.save(snapshot, at))
      .then(
        () => {
          failedBefore = false;
        },
        (failure: unknown) => {
          if (!failedBefore) log.warn(`cannot write the last known good configuration: ${errorMessage(failure)}`);
          failedBefore = true;
        },
      );
  };
  const forget = () => {
    log.warn(`the configuration is larger than ${maxBytes} bytes; it is not stored as last known good`);
    snapshot.clear();
    savedAt = undefined;
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(() => store.remove());
  };

  return toHandle({
    nodeId,
    probeEveryMs: options.probeEveryMs ?? DEFAULT_PROBE_EVERY_MS,
    ended: new Promise<void>(() => undefined),
    current: () => (savedAt === undefined ? undefined : { savedAt, snapshot }),
    recorder: (kind: XdsProtocol) =>
      new Recorder({
        kind,
        snapshot,
        maxPendingBytes: maxBytes,
        onOverflow: forget,
        onCommit() {
          if (snapshotBytes(snapshot) > maxBytes) return forget();
          savedAt = Date.now();
          timer ??= setTimeout(write, options.writeEveryMs ?? DEFAULT_WRITE_EVERY_MS);
        },
      }),
    noteReachable() {
      unreachableSince = undefined;
      heardAt = performance.now();
      for (const wake of waiters) wake();
    },
    noteConnected() {
      heardAt = performance.now();
    },
    noteUnreachable() {
      unreachableSince ??= performance.now();
    },
    dueInMs: () => graceMs - (unreachableSince === undefined ? 0 : performance.now() - unreachableSince),
    patienceMs,
    outOfPatience: (signal: AbortSignal) => wait(patienceMs(), signal),
    reachable: (signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const wake = () => {
          waiters.delete(wake);
          signal.removeEventListener("abort", wake);
          resolve();
        };
        waiters.add(wake);
        signal.addEventListener("abort", wake, { once: true });
      }),
    async stop() {
      if (timer !== undefined) {
        clearTimeout(timer);
        write();
      }
      await writing;
    },
  });
}

interface SnapshotStore {
  readonly path: string;
  /** Undefined when there is none; one that cannot be used is logged once and left alone. */
  load(): Promise<SnapshotFile | undefined>;
  save(snapshot: Snapshot, savedAt: number): Promise<void>;
  remove(): Promise<void>;
}

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
