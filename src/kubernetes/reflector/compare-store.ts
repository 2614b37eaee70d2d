import { wait } from "../../base/wait.ts";
import type { KubernetesClient } from "../client.ts";
import { type KubernetesObject, objectKey, type ResourceKind } from "../objects.ts";
import { listPages } from "./list-pages.ts";
import type { ObjectStore } from "./object-store.ts";
import { isOlderVersion } from "./recovery.ts";

/** What a comparison found, and repaired. */
export interface Comparison {
  readonly missing: number;
  readonly outdated: number;
  readonly leftOver: number;
  /** False when everything was read again meanwhile, for another reason: then nothing was compared. */
  readonly isComplete: boolean;
}

export interface CompareOptions<Reduced> {
  readonly client: KubernetesClient;
  readonly resource: ResourceKind;
  readonly store: ObjectStore<Reduced>;
  /** The version that the watch has reached. */
  reached(): string | undefined;
  isOver(): boolean;
  readonly signal: AbortSignal;
}

/** How long events that are on their way may take; a bookmark comes once a minute. */
const SETTLE_MS = 5000;
const LOOK_MS = 50;

/**
 * Lists what is stored now and compares versions. What differs because an event is still on its way is looked at again a little later;
 * what differs then has been missed, and is put right.
 */
export async function compareStore<Reduced>(options: CompareOptions<Reduced>): Promise<Comparison> {
  const { client, resource, store, signal } = options;
  using recording = store.recordTouched();
  const there = new Set<string>();
  const suspects = new Map<string, KubernetesObject>();
  // Whatever the watch says of an object meanwhile may be newer than the list.
  const isMissed = (key: string, object: KubernetesObject) =>
    !recording.touched.has(key) && differs(store, key, object);
  const sweep = () => ({
    add(object: KubernetesObject) {
      const key = objectKey(object);
      there.add(key);
      if (isMissed(key, object)) suspects.set(key, object);
    },
    finish: () => undefined,
  });
  const listed = await listPages({ client, resource, resourceVersion: "", sweep, signal });
  const leftOver = () =>
    [...store.keys()].filter(
      (key) =>
        !there.has(key) && !recording.touched.has(key) && !isOlderVersion(listed, store.resourceVersionOf(key) ?? ""),
    );
  const deadline = performance.now() + SETTLE_MS;
  const hasSuspects = () => [...suspects].some(([key, object]) => isMissed(key, object)) || leftOver().length > 0;
  while (hasSuspects() && isOlderVersion(options.reached() ?? "", listed) && performance.now() < deadline)
    await wait(LOOK_MS, signal);
  if (options.isOver()) return { missing: 0, outdated: 0, leftOver: 0, isComplete: false };
  const counts = { missing: 0, outdated: 0, leftOver: 0 };
  for (const [key, object] of suspects) {
    if (!isMissed(key, object)) continue;
    counts[store.resourceVersionOf(key) === undefined ? "missing" : "outdated"] += 1;
    store.put(object);
  }
  for (const key of leftOver()) {
    counts.leftOver += 1;
    store.remove(key);
  }
  return { ...counts, isComplete: true };
}

/** A copy that is newer than the list is right. */
function differs<Reduced>(store: ObjectStore<Reduced>, key: string, object: KubernetesObject): boolean {
  const { resourceVersion = "" } = object.metadata;
  const own = store.resourceVersionOf(key);
  if (own === undefined) return store.wants(object);
  return own !== resourceVersion && !isOlderVersion(resourceVersion, own);
}
