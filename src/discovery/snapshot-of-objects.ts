import type { DecodedObject } from "../istio-api/decode/decode-object.ts";
import { createPushSnapshot } from "../mesh-model/create-push-snapshot.ts";
import { type KubernetesObject, keyOf } from "../mesh-model/kubernetes-object.ts";
import type { MeshSettings } from "../mesh-model/mesh-settings.ts";
import type { PushSnapshot } from "../mesh-model/push-snapshot.ts";
import { NO_TOKEN_KEYS, type TokenKeys } from "../mesh-model/token-keys.ts";
import { createAggregateRegistry } from "./registries/create-aggregate-registry.ts";
import { createServiceEntryRegistry } from "./registries/create-service-entry-registry.ts";
import { createKubernetesRegistry } from "./registries/kubernetes/create-kubernetes-registry.ts";
import { REDUCERS, type ReducedKinds } from "./registries/kubernetes/reduce-object.ts";
import { createKubernetesStore, decodeRule, type KubernetesRule } from "./stores/create-kubernetes-store.ts";

interface SnapshotOptions {
  /** Key sets that a control plane would have fetched. */
  readonly tokenKeys?: TokenKeys;
  /** What whoever read the objects has decoded of them already, in their order; undefined for kinds that are not rules. */
  readonly decoded?: readonly (DecodedObject | undefined)[];
}

/** The mesh of objects as they stand, without any server: rules, and services of Kubernetes and ServiceEntries. */
export function snapshotOfObjects(
  objects: readonly KubernetesObject[],
  mesh: MeshSettings,
  { tokenKeys = NO_TOKEN_KEYS, decoded }: SnapshotOptions = {},
): PushSnapshot {
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
  for (const [at, object] of objects.entries()) {
    const kind = object.kind as keyof ReducedKinds;
    if (Object.hasOwn(REDUCERS, kind)) set(kind, object);
    else {
      const rule = decoded === undefined ? decodeRule(object) : ruleOf(decoded[at]);
      store.set(`${kind}/${keyOf(object.metadata ?? {})}`, rule);
    }
  }
  kubernetes.markSynced();
  store.commit();
  const entries = createServiceEntryRegistry({ ...origin, store, workloads: [kubernetes.workloads] });
  const registry = createAggregateRegistry([kubernetes, entries]);
  return createPushSnapshot({ mesh, configs: store.snapshot, registry, tokenKeys, version: "0" });
}

function ruleOf(decoded: DecodedObject | undefined): KubernetesRule | undefined {
  if (decoded?.ref === undefined || decoded.ignoredKind !== undefined) return undefined;
  return { ref: decoded.ref, object: decoded.object, problems: [] };
}
