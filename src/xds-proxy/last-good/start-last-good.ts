import { errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import type { XdsProtocol } from "../../xds/methods.ts";
import { type Snapshot, snapshotBytes } from "./core/snapshot.ts";
import { Recorder } from "./recorder.ts";
import { createSnapshotStore } from "./snapshot-store.ts";

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
    patienceMs: () => Math.max(Math.min(LEAST_PATIENCE_MS, graceMs), graceMs - (performance.now() - heardAt)),
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
