import type { BackoffOptions } from "../../base/backoff.ts";
import type { Handle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import type { KubernetesClient } from "../client.ts";
import type { KubernetesErrorCode } from "../kubernetes-error.ts";
import type { KubernetesMetrics } from "../metrics.ts";
import type { ApiObject, ResourceKind } from "../objects.ts";
import type { MessageShape } from "../protobuf/message-shape.ts";
import type { Comparison } from "./compare-store.ts";
import type { ComparisonTimes } from "./comparison-schedule.ts";

export interface ReflectorOptions<Reduced> {
  readonly client: KubernetesClient;
  readonly resource: ResourceKind;
  /** In metrics; none when absent. */
  readonly cluster?: string;
  /** Of a built-in kind: what `reduce` reads of an object. Only that is decoded then, and what comes is half as long. */
  readonly shape?: MessageShape | undefined;
  /** What is left of an object; undefined: not wanted. */
  reduce(object: ApiObject): Reduced | undefined;
  /** The key is namespace/name, or name. Called in the order of changes, also for those before the first sync. */
  onChange(key: string, after: Reduced | undefined, before: Reduced | undefined): void;
  /** Of what is held, also where a new version says the same as before; undefined when it is gone. Before `onChange`. */
  onVersion?: ((key: string, resourceVersion: string | undefined) => void) | undefined;
  /** Once, when everything that was there at the start has been read. */
  onSynced?(): void;
  /** Between failures; 0.8 to 30 s when absent. */
  readonly backoff?: BackoffOptions;
  /** Every ten minutes, and within half a minute after a lost connection, when absent. */
  readonly comparisons?: ComparisonTimes;
  readonly log: Logger;
  readonly metrics: KubernetesMetrics;
}

export interface Freshness {
  /** Milliseconds since 1970 of the last bookmark, list or comparison; undefined before the first list. */
  readonly provedAt: number | undefined;
  readonly state: "listing" | "watching" | "waiting";
  readonly resourceVersion: string | undefined;
  /** Of the last failure, until something works again. */
  readonly problem: string | undefined;
  readonly problemCode: KubernetesErrorCode | undefined;
  readonly isSynced: boolean;
  readonly objects: number;
  /** Differences that comparisons with the server found and repaired. */
  readonly repaired: number;
}

/** A copy of all objects of a kind, as small as `reduce` makes them, that follows the API server. */
export interface Reflector<Reduced> extends Handle {
  get(key: string): Reduced | undefined;
  entries(): Iterable<[string, Reduced]>;
  readonly size: number;
  /** Rejects when the reflector is stopped before. */
  readonly synced: Promise<void>;
  freshness(): Freshness;
  /** Reads all objects as they are stored now, repairs what differs and says how much it was. */
  compareWithServer(signal?: AbortSignal): Promise<Comparison>;
}
