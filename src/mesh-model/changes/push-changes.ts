import type { ObjectRef } from "../../istio-api/config-object.ts";
import type { ConfigChange } from "../config-store.ts";
import type { RegistryChange } from "../service-registry.ts";

/** What happened between two snapshots. */
export interface PushChanges {
  /** Something that everybody depends on: every proxy is looked at again. */
  readonly forced: boolean;
  /** Rule objects that were added, updated or deleted. */
  readonly objects: readonly ObjectRef[];
  /** Keys of services that are new, other than before, or gone. */
  readonly services: ReadonlySet<string>;
  /** Keys of services of which only the endpoints differ. */
  readonly endpoints: ReadonlySet<string>;
  /** Some workload is registered otherwise than before. */
  readonly workloads: boolean;
}

const NONE: ReadonlySet<string> = new Set();

export const NO_CHANGES: PushChanges = {
  forced: false,
  objects: [],
  services: NONE,
  endpoints: NONE,
  workloads: false,
};

/** The mesh settings changed, or an operator asked for it. */
export const FORCED_CHANGES: PushChanges = { ...NO_CHANGES, forced: true };

/** Objects that describe services are left out: their registry reports, more precisely, which services they change. */
export function changesOfConfig({ changes }: Pick<ConfigChange, "changes">): PushChanges {
  const objects = changes.filter(({ kind }) => kind !== "ServiceEntry" && kind !== "WorkloadEntry");
  return { ...NO_CHANGES, objects: objects.map(({ kind, namespace, name }) => ({ kind, namespace, name })) };
}

export function changesOfRegistry({ updated, deleted, endpoints, workloads }: RegistryChange): PushChanges {
  return {
    ...NO_CHANGES,
    services: new Set([...updated, ...deleted]),
    endpoints: new Set(endpoints),
    workloads: workloads === true,
  };
}

/** Both, in any order. */
export function mergeChanges(a: PushChanges, b: PushChanges): PushChanges {
  if (a === NO_CHANGES) return b;
  if (b === NO_CHANGES) return a;
  const objects = new Map([...a.objects, ...b.objects].map((ref) => [`${ref.kind}/${ref.namespace}/${ref.name}`, ref]));
  return {
    forced: a.forced || b.forced,
    objects: [...objects.values()],
    services: new Set([...a.services, ...b.services]),
    endpoints: new Set([...a.endpoints, ...b.endpoints]),
    workloads: a.workloads || b.workloads,
  };
}
