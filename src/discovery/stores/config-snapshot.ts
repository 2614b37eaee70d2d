import { isDeepStrictEqual } from "node:util";
import { type AnyConfigObject, type ConfigObject, type ObjectRef, objectKey } from "../../istio-api/config-object.ts";
import type { DocumentProblem } from "../../istio-api/decode/parse-config-text.ts";
import type { Kind } from "../../istio-api/kinds.ts";
import type { ConfigListener, ConfigSnapshot, ConfigStore, ObjectChange } from "../../mesh-model/config-store.ts";
import { sameElements } from "../../mesh-model/lists.ts";
import { KindTable, type ObjectPatch } from "./kind-table.ts";

interface SnapshotPublisher {
  readonly snapshot: ConfigSnapshot;
  subscribe(listener: ConfigListener): () => void;
  /** Makes a new snapshot of these objects and notifies the listeners; nothing happens when it would equal the present one. */
  publish(objects: ObjectMap, problems: readonly DocumentProblem[]): readonly ObjectChange[];
  /** The same for some objects; the others stay. Costs what changes, and a copy of the kinds that it touches. */
  apply(patches: readonly ObjectPatch[], problems: readonly DocumentProblem[]): readonly ObjectChange[];
}

export type ObjectMap = ReadonlyMap<string, AnyConfigObject>;

type Tables = ReadonlyMap<Kind, KindTable>;

/** Keeps a store's present snapshot and finds out what a new state changes. */
export function createSnapshotPublisher(): SnapshotPublisher {
  let tables: Tables = new Map();
  let snapshot = createSnapshot(0, tables, []);
  const listeners = new Set<ConfigListener>();
  const apply = (patches: readonly ObjectPatch[], problems: readonly DocumentProblem[]) => {
    const real = patches.filter(([ref, object]) => isChange(find(tables, ref), object));
    const isSaid = sameElements(problems, snapshot.problems) || isDeepStrictEqual(problems, snapshot.problems);
    if (real.length === 0 && isSaid) return [];
    const changes = real.map(([{ kind, namespace, name }, object]): ObjectChange => {
      const known = find(tables, { kind, namespace, name });
      return { kind, namespace, name, change: object === undefined ? "deleted" : known ? "updated" : "added" };
    });
    const previous = snapshot;
    const next = new Map(tables);
    for (const kind of new Set(real.map(([ref]) => ref.kind))) {
      const own = real.filter(([ref]) => ref.kind === kind);
      next.set(kind, (tables.get(kind) ?? KindTable.EMPTY).with(own));
    }
    tables = next;
    snapshot = createSnapshot(previous.version + 1, tables, isSaid ? previous.problems : problems);
    for (const listener of [...listeners]) listener({ snapshot, previous, changes });
    return changes;
  };
  return {
    get snapshot() {
      return snapshot;
    },
    subscribe: (listener) => {
      // An own function for each subscription, so that one listener may subscribe twice.
      const entry: ConfigListener = (change) => listener(change);
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    publish: (wanted, problems) => {
      const patches: ObjectPatch[] = [...wanted.values()].map((object) => [object, object]);
      for (const object of snapshot.all()) if (!wanted.has(objectKey(object))) patches.push([object, undefined]);
      return apply(patches, problems);
    },
    apply,
  };
}

function find(tables: Tables, { kind, namespace, name }: ObjectPatch[0]): AnyConfigObject | undefined {
  return tables.get(kind)?.get(namespace, name);
}

/** Objects that say the same as before stay the values they were, so that everybody downstream can compare by identity. */
function isChange(before: AnyConfigObject | undefined, after: AnyConfigObject | undefined): boolean {
  if (before === undefined || after === undefined) return before !== after;
  return !saysTheSame(before, after);
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

function createSnapshot(version: number, tables: Tables, problems: readonly DocumentProblem[]): ConfigSnapshot {
  let every: readonly AnyConfigObject[] | undefined;
  return Object.freeze({
    version,
    problems: Object.isFrozen(problems) ? problems : Object.freeze([...problems]),
    get: <Of extends Kind>(kind: Of, namespace: string, name: string) =>
      tables.get(kind)?.get(namespace, name) as ConfigObject<Of> | undefined,
    list: <Of extends Kind>(kind: Of, namespace?: string) =>
      (tables.get(kind) ?? KindTable.EMPTY).list(namespace) as readonly ConfigObject<Of>[],
    all: () => {
      every ??= Object.freeze([...tables.values()].flatMap((table) => [...table.values()]));
      return every;
    },
  });
}

interface CombinedStore extends ConfigStore {
  /** Ends the subscriptions to the parts. */
  close(): void;
}

/** Several stores as one. Of two objects with one name that of the earlier store counts. */
export function combineStores(stores: readonly ConfigStore[]): CombinedStore {
  const publisher = createSnapshotPublisher();
  const find = ({ kind, namespace, name }: ObjectRef): AnyConfigObject | undefined => {
    for (const { snapshot } of stores) {
      const object = snapshot.get(kind, namespace, name);
      if (object !== undefined) return object as AnyConfigObject;
    }
    return undefined;
  };
  const take = (refs: readonly ObjectRef[]) => {
    const problems = stores.flatMap(({ snapshot }) => snapshot.problems);
    publisher.apply(
      refs.map((ref): ObjectPatch => [ref, find(ref)]),
      problems,
    );
  };
  take(stores.flatMap(({ snapshot }) => snapshot.all()));
  const ends = stores.map((store) => store.subscribe(({ changes }) => take(changes)));
  return {
    get snapshot() {
      return publisher.snapshot;
    },
    subscribe: publisher.subscribe,
    close: () => {
      for (const end of ends) end();
    },
  };
}
