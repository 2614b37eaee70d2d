import { type AnyConfigObject, type ConfigObject, type ObjectRef, objectKey } from "../istio-api/config-object.ts";
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

/** The same without the objects of these keys; lists that had none of them are the same arrays. */
export function configsWithout(configs: ConfigSnapshot, left: ReadonlySet<string>): ConfigSnapshot {
  const lists = new Map<string, readonly ConfigObject[]>();
  return {
    version: configs.version,
    problems: configs.problems,
    all: () => configs.all().filter((object) => !left.has(objectKey(object))),
    get: (kind, namespace, name) =>
      left.has(objectKey({ kind, namespace, name })) ? undefined : configs.get(kind, namespace, name),
    list<Of extends Kind>(kind: Of, namespace?: string): readonly ConfigObject<Of>[] {
      const key = JSON.stringify([kind, namespace]);
      let known = lists.get(key);
      if (known === undefined) {
        const whole = configs.list(kind, namespace);
        const rest = whole.filter((object) => !left.has(objectKey(object)));
        known = rest.length === whole.length ? whole : rest;
        lists.set(key, known);
      }
      return known as readonly ConfigObject<Of>[];
    },
  };
}

/** The same with these objects alone of the kinds that are named, given in the order in which they win. */
export function configsWithOnly(
  configs: ConfigSnapshot,
  kept: ReadonlyMap<Kind, readonly ConfigObject[]>,
): ConfigSnapshot {
  const keys = new Set([...kept.values()].flat().map(objectKey));
  const isKept = (object: ObjectRef) => !kept.has(object.kind) || keys.has(objectKey(object));
  const lists = new Map<string, readonly ConfigObject[]>();
  return {
    version: configs.version,
    problems: configs.problems,
    all: () => configs.all().filter(isKept),
    get: (kind, namespace, name) =>
      isKept({ kind, namespace, name }) ? configs.get(kind, namespace, name) : undefined,
    list<Of extends Kind>(kind: Of, namespace?: string): readonly ConfigObject<Of>[] {
      const own = kept.get(kind);
      if (own === undefined) return configs.list(kind, namespace);
      const key = JSON.stringify([kind, namespace]);
      const known =
        lists.get(key) ?? (namespace === undefined ? own : own.filter((object) => object.namespace === namespace));
      lists.set(key, known);
      return known as readonly ConfigObject<Of>[];
    },
  };
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
