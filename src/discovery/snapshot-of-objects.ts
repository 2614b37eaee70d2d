import { createPushSnapshot } from "../mesh-model/create-push-snapshot.ts";
import { type KubernetesObject, keyOf } from "../mesh-model/kubernetes-object.ts";
import type { MeshSettings } from "../mesh-model/mesh-settings.ts";
import type { PushSnapshot } from "../mesh-model/push-snapshot.ts";
import { createAggregateRegistry } from "./registries/create-aggregate-registry.ts";
import { createServiceEntryRegistry } from "./registries/create-service-entry-registry.ts";
import { createKubernetesRegistry } from "./registries/kubernetes/create-kubernetes-registry.ts";
import { REDUCERS, type ReducedKinds } from "./registries/kubernetes/reduce-object.ts";
import { createKubernetesStore, decodeRule } from "./stores/create-kubernetes-store.ts";

/** The mesh of objects as they stand, without any server: rules, and services of Kubernetes and ServiceEntries. */
export function snapshotOfObjects(objects: readonly KubernetesObject[], mesh: MeshSettings): PushSnapshot {
  const store = createKubernetesStore((namespace) => kubernetes.isDiscovered(namespace));
  const origin = { trustDomain: mesh.trustDomain, clusterId: "Kubernetes" };
  const kubernetes = createKubernetesRegistry({
    ...origin,
    store,
    domainSuffix: mesh.domainSuffix,
    discoverySelectors: mesh.source.discoverySelectors,
  });
  const set = <Of extends keyof ReducedKinds>(kind: Of, object: KubernetesObject) =>
    kubernetes.set(kind, keyOf(object.metadata ?? {}), REDUCERS[kind](object));
  for (const object of objects) {
    const kind = object.kind as keyof ReducedKinds;
    if (Object.hasOwn(REDUCERS, kind)) set(kind, object);
    else store.set(`${kind}/${keyOf(object.metadata ?? {})}`, decodeRule(object));
  }
  kubernetes.markSynced();
  store.commit();
  const entries = createServiceEntryRegistry({ ...origin, store, workloads: [kubernetes.workloads] });
  const registry = createAggregateRegistry([kubernetes, entries]);
  return createPushSnapshot({ mesh, configs: store.snapshot, registry, version: "0" });
}
