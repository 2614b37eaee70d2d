import type { Freshness, MessageShape } from "../kubernetes/index.ts";
import type { KubernetesObject } from "../mesh-model/kubernetes-object.ts";
import type { ClusterApi } from "./cluster/cluster-api.ts";

/** Objects of one kind in an API server. */
export interface WatchedResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** All namespaces without. */
  readonly namespace?: string;
  /** One object alone. */
  readonly name?: string;
  /** Not together with a name. */
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface WatchOptions<Reduced> {
  readonly resource: WatchedResource;
  /** Of a built-in kind: what `reduce` reads. Without it objects are read whole. */
  readonly shape?: MessageShape;
  /** What is held in memory of an object; undefined for objects that do not matter. */
  readonly reduce: (object: KubernetesObject) => Reduced | undefined;
  /** `namespace/name`, or the name alone for objects of the whole cluster. Undefined: there is none any more, or there was none. */
  readonly onChange: (key: string, after: Reduced | undefined, before: Reduced | undefined) => void;
  /** The version of what is held, also where it says the same as before; undefined when it is gone. Before `onChange`. */
  readonly onVersion?: (key: string, resourceVersion: string | undefined) => void;
}

export interface ObjectWatch {
  /** Resolves when every object that was there at the start has been given to `onChange`. Never rejects. */
  readonly synced: Promise<void>;
  /** How old what is known is, and what is wrong; absent where objects do not come from an API server. */
  freshness?(): Freshness;
  /** Nothing is called after it resolved. */
  stop(): Promise<void>;
}

/** What one watch knows. */
export interface KindFreshness extends Freshness {
  /** Plural and group, with namespace and name where the watch is limited to them. */
  readonly resource: string;
}

/** Something that follows objects of a cluster, on and on: what the control plane needs of a client. */
export interface KubernetesSource {
  watch<Reduced>(options: WatchOptions<Reduced>): ObjectWatch;
  /** Of each watch that runs. */
  freshness?(): readonly KindFreshness[];
  /** Questions and writes; absent where objects do not come from an API server. */
  readonly api?: ClusterApi;
}

/**
 * Since when nothing has been known of a cluster: the last proof of any of its kinds. Undefined while some kind is followed: an API server
 * that refuses one kind is not away.
 */
export function awaySince(kinds: readonly KindFreshness[]): number | undefined {
  const isLost = ({ problem, state }: KindFreshness) => problem !== undefined && state !== "watching";
  if (kinds.length === 0 || !kinds.every(isLost)) return undefined;
  const proofs = kinds.flatMap(({ provedAt }) => provedAt ?? []);
  return proofs.length === 0 ? undefined : Math.max(...proofs);
}
