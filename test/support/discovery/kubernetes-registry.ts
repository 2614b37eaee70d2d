import {
  createKubernetesRegistry,
  type KubernetesRegistry,
  type KubernetesRegistryOptions,
} from "../../../src/discovery/registries/kubernetes/create-kubernetes-registry.ts";
import { REDUCERS, type ReducedKinds } from "../../../src/discovery/registries/kubernetes/reduce-object.ts";
import { createMemoryStore } from "../../../src/discovery/stores/create-memory-store.ts";
import { type KubernetesObject, keyOf } from "../../../src/mesh-model/kubernetes-object.ts";

/** Reduces an object as a watch would, and gives it to the registry. */
export function setObject(registry: Pick<KubernetesRegistry, "set">, object: KubernetesObject): void {
  setReduced(registry, object.kind as keyof ReducedKinds, object);
}

export function removeObject(registry: Pick<KubernetesRegistry, "set">, object: KubernetesObject): void {
  registry.set(object.kind as keyof ReducedKinds, keyOf(object.metadata ?? {}), undefined);
}

function setReduced<Of extends keyof ReducedKinds>(
  registry: Pick<KubernetesRegistry, "set">,
  kind: Of,
  object: KubernetesObject,
): void {
  registry.set(kind, keyOf(object.metadata ?? {}), REDUCERS[kind](object));
}

/** A registry of a cluster `c1` that has exactly these objects. */
export function registryOf(objects: readonly KubernetesObject[], options: Partial<KubernetesRegistryOptions> = {}) {
  const store = createMemoryStore({ now: () => 0 });
  const registry = createKubernetesRegistry({
    store,
    clusterId: "c1",
    trustDomain: "td",
    domainSuffix: "cluster.local",
    ...options,
  });
  for (const object of objects) setObject(registry, object);
  registry.markSynced();
  const key = (name: string) => registry.services().find((service) => service.name === name)?.key ?? "";
  return {
    store,
    registry,
    key,
    endpoints: (name: string) => registry.endpoints(key(name)),
    apply: (...changed: readonly KubernetesObject[]) => {
      for (const object of changed) setObject(registry, object);
      registry.commit();
    },
    remove: (...gone: readonly KubernetesObject[]) => {
      for (const object of gone) removeObject(registry, object);
      registry.commit();
    },
  };
}
