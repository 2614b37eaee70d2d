import { isDeepStrictEqual } from "node:util";
import { type AnyConfigObject, type ConfigObject, compareAge, objectKey } from "../../istio-api/config-object.ts";
import type { DocumentProblem } from "../../istio-api/decode/parse-config-text.ts";
import type { Kind } from "../../istio-api/kinds.ts";
import type { ConfigListener, ConfigSnapshot, ObjectChange } from "../../mesh-model/config-store.ts";

interface SnapshotPublisher {
  readonly snapshot: ConfigSnapshot;
  readonly objects: ObjectMap;
  subscribe(listener: ConfigListener): () => void;
  /** Makes a new snapshot and notifies the listeners; nothing happens when it would equal the present one. */
  publish(objects: ObjectMap, problems: readonly DocumentProblem[]): readonly ObjectChange[];
}

/** Keeps a store's present snapshot and finds out what a new state changes. */
export function createSnapshotPublisher(): SnapshotPublisher {
  let objects: ObjectMap = new Map();
  let snapshot = createSnapshot(0, objects, []);
  const listeners = new Set<ConfigListener>();
  return {
    get snapshot() {
      return snapshot;
    },
    get objects() {
      return objects;
    },
    subscribe: (listener) => {
      // An own function for each subscription, so that one listener may subscribe twice.
      const entry: ConfigListener = (change) => listener(change);
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    publish: (wanted, problems) => {
      const { next, changes } = reconcile(objects, wanted);
      if (changes.length === 0 && isDeepStrictEqual(problems, snapshot.problems)) return changes;
      const previous = snapshot;
      objects = next;
      snapshot = createSnapshot(previous.version + 1, objects, problems);
      for (const listener of [...listeners]) listener({ snapshot, previous, changes });
      return changes;
    },
  };
}

/** Objects that say the same as before stay the values they were, so that everybody downstream can compare by identity. */
function reconcile(
  before: ObjectMap,
  wanted: ObjectMap,
): { readonly next: ObjectMap; readonly changes: ObjectChange[] } {
  const next = new Map<string, AnyConfigObject>();
  const changes: ObjectChange[] = [];
  const note = ({ kind, namespace, name }: AnyConfigObject, change: ObjectChange["change"]) =>
    changes.push({ kind, namespace, name, change });
  for (const [key, object] of wanted) {
    const known = before.get(key);
    if (known !== undefined && saysTheSame(known, object)) next.set(key, known);
    else {
      next.set(key, object);
      note(object, known === undefined ? "added" : "updated");
    }
  }
  for (const [key, object] of before) if (!wanted.has(key)) note(object, "deleted");
  return { next, changes };
}

function saysTheSame(a: AnyConfigObject, b: AnyConfigObject): boolean {
  if (a === b) return true;
  return (
    a.creationTime === b.creationTime &&
    isDeepStrictEqual(a.spec, b.spec) &&
    isDeepStrictEqual(a.labels, b.labels) &&
    isDeepStrictEqual(a.annotations, b.annotations) &&
    isDeepStrictEqual(a.status, b.status)
  );
}

export type ObjectMap = ReadonlyMap<string, AnyConfigObject>;

/** The map must not change afterwards. Lists are sorted when they are first asked for. */
function createSnapshot(version: number, objects: ObjectMap, problems: readonly DocumentProblem[]): ConfigSnapshot {
  const lists = new Map<string, readonly ConfigObject[]>();
  const listOf = (key: string, pick: () => readonly ConfigObject[]) => {
    let list = lists.get(key);
    if (list === undefined) {
      list = Object.freeze(pick());
      lists.set(key, list);
    }
    return list;
  };
  let every: readonly AnyConfigObject[] | undefined;
  const kind = (name: Kind) =>
    listOf(name, () => [...objects.values()].filter((object) => object.kind === name).sort(compareAge));
  return Object.freeze({
    version,
    problems: Object.freeze([...problems]),
    get: <Of extends Kind>(name: Of, namespace: string, object: string) =>
      objects.get(objectKey({ kind: name, namespace, name: object })) as ConfigObject<Of> | undefined,
    list: <Of extends Kind>(name: Of, namespace?: string) =>
      (namespace === undefined
        ? kind(name)
        : listOf(`${name}/${namespace}`, () =>
            kind(name).filter((object) => object.namespace === namespace),
          )) as readonly ConfigObject<Of>[],
    all: () => {
      every ??= Object.freeze([...objects.values()]);
      return every;
    },
  });
}
