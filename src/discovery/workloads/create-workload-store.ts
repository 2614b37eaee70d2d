import { type AnyConfigObject, type ObjectRef, objectKey } from "../../istio-api/config-object.ts";
import type { ConfigStore } from "../../mesh-model/config-store.ts";
import { createSnapshotPublisher } from "../stores/config-snapshot.ts";
import { createMemoryStore, type PutResult } from "../stores/create-memory-store.ts";

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
  /** Undefined takes the report back: the object's own status counts again. */
  report(ref: ObjectRef, condition: HealthCondition | undefined): void;
  close(): void;
}

export function createWorkloadStore(below: ConfigStore): WorkloadStore {
  const publisher = createSnapshotPublisher();
  const registered = createMemoryStore();
  const reports = new Map<string, HealthCondition>();
  const publish = () => {
    const objects = new Map<string, AnyConfigObject>();
    for (const object of [...below.snapshot.all(), ...registered.snapshot.all()]) {
      const key = objectKey(object);
      if (!objects.has(key)) objects.set(key, withReport(object, reports.get(key)));
    }
    publisher.publish(objects, below.snapshot.problems);
  };
  publish();
  const ends = [below.subscribe(publish), registered.subscribe(publish)];
  return {
    get snapshot() {
      return publisher.snapshot;
    },
    subscribe: publisher.subscribe,
    register: registered.put,
    unregister: (ref) => {
      reports.delete(objectKey(ref));
      registered.delete(ref);
    },
    report: (ref, condition) => {
      if (condition === undefined) reports.delete(objectKey(ref));
      else reports.set(objectKey(ref), condition);
      publish();
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
