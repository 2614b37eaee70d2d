import { wait } from "../../base/wait.ts";
import type { KubernetesClient } from "../client.ts";
import { type ApiObject, objectKey, type ResourceKind } from "../objects.ts";
import type { MessageShape } from "../protobuf/message-shape.ts";
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
  readonly shape?: MessageShape | undefined;
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
 * Lists what is stored now and compares. What the watch says of an object meanwhile may be newer than the list and is left alone. What
 * differs because its event is still on its way is looked at again a little later; what differs then was missed, and is put right. So is
 * an object of the same version and another content: a server restored from a backup gives versions a second time.
 */
export async function compareStore<Reduced>(options: CompareOptions<Reduced>): Promise<Comparison> {
  const { client, resource, shape, store, signal } = options;
  using recording = store.recordTouched();
  const there = new Set<string>();
  const suspects = new Map<string, ApiObject>();
  const isMissed = (key: string, object: ApiObject) => !recording.touched.has(key) && !store.isSame(key, object);
  const sweep = () => ({
    add(object: ApiObject) {
      const key = objectKey(object);
      there.add(key);
      if (isMissed(key, object)) suspects.set(key, object);
    },
    finish: () => undefined,
  });
  const listed = await listPages({ client, resource, resourceVersion: "", shape, sweep, signal });
  const leftOver = () => [...store.keys()].filter((key) => !there.has(key) && !recording.touched.has(key));
  const isAnythingMissed = () => [...suspects].some(([key, object]) => isMissed(key, object)) || leftOver().length > 0;
  const deadline = performance.now() + SETTLE_MS;
  const isBehind = () => isOlderVersion(options.reached() ?? "", listed) && performance.now() < deadline;
  while (isAnythingMissed() && isBehind() && !signal.aborted) await wait(LOOK_MS, signal);
  if (options.isOver()) return { missing: 0, outdated: 0, leftOver: 0, isComplete: false };
  const counts = { missing: 0, outdated: 0, leftOver: 0 };
  const gone = leftOver();
  for (const [key, object] of suspects) {
    if (!isMissed(key, object)) continue;
    counts[store.get(key) === undefined ? "missing" : "outdated"] += 1;
    store.put(object);
  }
  for (const key of gone) {
    counts.leftOver += 1;
    store.remove(key);
  }
  return { ...counts, isComplete: true };
}
