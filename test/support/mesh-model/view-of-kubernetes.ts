import { parseAllDocuments } from "yaml";
import { createAggregateRegistry } from "../../../src/discovery/registries/create-aggregate-registry.ts";
import { createServiceEntryRegistry } from "../../../src/discovery/registries/create-service-entry-registry.ts";
import { createKubernetesRegistry } from "../../../src/discovery/registries/kubernetes/create-kubernetes-registry.ts";
import { type KubernetesObject, keyOf } from "../../../src/discovery/registries/kubernetes/kubernetes-object.ts";
import { REDUCERS, type ReducedKinds } from "../../../src/discovery/registries/kubernetes/reduce-object.ts";
import { createKubernetesStore, decodeRule } from "../../../src/discovery/stores/create-kubernetes-store.ts";
import { createPushSnapshot } from "../../../src/mesh-model/create-push-snapshot.ts";
import type { XdsNode } from "../../../src/mesh-model/proxy/parse-node.ts";
import type { ProxyView, PushSnapshot } from "../../../src/mesh-model/push-snapshot.ts";
import { setObject } from "../discovery/kubernetes-registry.ts";
import { meshOfCase, nodeOfCase } from "./view-of-case.ts";

/** What a proxy sees in a mesh of the given Kubernetes objects. */
export function viewOfKubernetes(objectsYaml: string, meshYaml: string | undefined, node: XdsNode | string): ProxyView {
  return snapshotOfKubernetes(readKubernetesObjects(objectsYaml), meshYaml).view(nodeOfCase(node));
}

export function readKubernetesObjects(yaml: string): readonly KubernetesObject[] {
  return parseAllDocuments(yaml).flatMap((document) => (document.toJS() as KubernetesObject | null) ?? []);
}

/** The mesh of objects that arrive in the given order. */
export function snapshotOfKubernetes(objects: readonly KubernetesObject[], meshYaml?: string): PushSnapshot {
  const mesh = meshOfCase(meshYaml);
  const store = createKubernetesStore((namespace) => kubernetes.isDiscovered(namespace));
  const origin = { trustDomain: mesh.trustDomain, clusterId: "Kubernetes" };
  const kubernetes = createKubernetesRegistry({
    ...origin,
    store,
    domainSuffix: mesh.domainSuffix,
    discoverySelectors: mesh.source.discoverySelectors,
  });
  for (const object of objects) {
    const kind = object.kind as keyof ReducedKinds;
    if (!Object.hasOwn(REDUCERS, kind)) store.set(`${kind}/${keyOf(object.metadata ?? {})}`, decodeRule(object));
    else setObject(kubernetes, object);
  }
  kubernetes.markSynced();
  store.commit();
  const entries = createServiceEntryRegistry({ ...origin, store, workloads: [kubernetes.workloads] });
  const registry = createAggregateRegistry([kubernetes, entries]);
  return createPushSnapshot({ mesh, configs: store.snapshot, registry, version: "2026-01-01T00:00:00Z/1" });
}
