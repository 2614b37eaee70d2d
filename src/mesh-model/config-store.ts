import type { AnyConfigObject, ConfigObject, ObjectRef } from "../istio-api/config-object.ts";
import type { DocumentProblem } from "../istio-api/decode/parse-config-text.ts";
import type { Kind } from "../istio-api/kinds.ts";

/** Rule objects at one moment. Never changes; a later state is another snapshot. */
export interface ConfigSnapshot {
  /** Grows by one with each snapshot of a store. */
  readonly version: number;
  get<Of extends Kind>(kind: Of, namespace: string, name: string): ConfigObject<Of> | undefined;
  /** In the order in which objects win: oldest, then name, then namespace. The same array on every call. */
  list<Of extends Kind>(kind: Of, namespace?: string): readonly ConfigObject<Of>[];
  /** Every object, in no order that means anything. */
  all(): readonly AnyConfigObject[];
  /** Documents that were refused, and warnings about those that were not. */
  readonly problems: readonly DocumentProblem[];
}

export interface ObjectChange extends ObjectRef {
  readonly change: "added" | "updated" | "deleted";
}

export interface ConfigChange {
  readonly snapshot: ConfigSnapshot;
  readonly previous: ConfigSnapshot;
  /** Empty when only the problems differ. Objects that stayed equal are the same values in both snapshots. */
  readonly changes: readonly ObjectChange[];
}

export type ConfigListener = (change: ConfigChange) => void;

/** Where rule objects come from. */
export interface ConfigStore {
  readonly snapshot: ConfigSnapshot;
  /** Calls after each change, in order. Returns what ends the subscription. */
  subscribe(listener: ConfigListener): () => void;
}
