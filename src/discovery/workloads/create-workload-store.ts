import { type AnyConfigObject, type ObjectRef, objectKey } from "../../istio-api/config-object.ts";
import type { ConfigStore } from "../../mesh-model/config-store.ts";
import { createSnapshotPublisher } from "../stores/config-snapshot.ts";
import { createMemoryStore, type PutResult } from "../stores/create-memory-store.ts";
import type { ObjectPatch } from "../stores/kind-table.ts";

export interface HealthCondition {
  readonly type: "Healthy";
  readonly status: "True" | "False";
  readonly message?: string;
  readonly lastProbeTime: string;
  readonly lastTransitionTime: string;
}

/** A store with entries of workloads that registered themselves, and with what agents report of theirs. */
export interface WorkloadStore extends ConfigStore {
  /** An object of the store below with the same name wins. */
  register(document: unknown): PutResult;
  unregister(ref: ObjectRef): void;
  /** The registered entry is stored elsewhere: what the store below says of it counts from when it has it. */
  stored(ref: ObjectRef): void;
  /** Undefined takes the report back: the object's own status counts again. */
  report(ref: ObjectRef, condition: HealthCondition | undefined): void;
  close(): void;
}

export function createWorkloadStore(below: ConfigStore): WorkloadStore {
  const publisher = createSnapshotPublisher();
  const registered = createMemoryStore();
  const reports = new Map<string, HealthCondition>();
  /** Keys of registered entries that are stored elsewhere. */
  const elsewhere = new Set<string>();
  const find = (ref: ObjectRef): AnyConfigObject | undefined => {
    const { kind, namespace, name } = ref;
    const object = below.snapshot.get(kind, namespace, name) ?? registered.snapshot.get(kind, namespace, name);
    return object && withReport(object as AnyConfigObject, reports.get(objectKey(ref)));
  };
  const take = (refs: readonly ObjectRef[]) => {
    publisher.apply(
      refs.map((ref): ObjectPatch => [ref, find(ref)]),
      below.snapshot.problems,
    );
  };
  /** From then on it is gone when it is gone there. */
  const handOver = (ref: ObjectRef) => {
    const isBelow = below.snapshot.get(ref.kind, ref.namespace, ref.name) !== undefined;
    if (isBelow && elsewhere.delete(objectKey(ref))) registered.delete(ref);
  };
  take(below.snapshot.all());
  const ends = [
    below.subscribe(({ changes }) => {
      take(changes);
      if (elsewhere.size > 0) for (const ref of changes) handOver(ref);
    }),
    registered.subscribe(({ changes }) => take(changes)),
  ];
  return {
    get snapshot() {
      return publisher.snapshot;
    },
    subscribe: publisher.subscribe,
    register: registered.put,
    unregister: (ref) => {
      elsewhere.delete(objectKey(ref));
      const hadReport = reports.delete(objectKey(ref));
      if (!registered.delete(ref) && hadReport) take([ref]);
    },
    stored: (ref) => {
      elsewhere.add(objectKey(ref));
      handOver(ref);
    },
    report: (ref, condition) => {
      if (condition === undefined) reports.delete(objectKey(ref));
      else reports.set(objectKey(ref), condition);
      take([ref]);
    },
    close: () => {
      for (const end of ends) end();
    },
  };
}

/** Other conditions of the object stay. */
function withReport(object: AnyConfigObject, condition: HealthCondition | undefined): AnyConfigObject {
  if (condition === undefined) return object;
  const status = (object.status ?? {}) as { readonly conditions?: readonly { readonly type?: unknown }[] };
  const others = (status.conditions ?? []).filter(({ type }) => type !== condition.type);
  return Object.freeze({ ...object, status: { ...status, conditions: [...others, condition] } }) as AnyConfigObject;
}
