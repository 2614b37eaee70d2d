import type { CloseStack } from "../base/close-stack.ts";
import type { KubernetesSource, ObjectWatch, WatchedResource } from "./kubernetes-source.ts";
import type { KubernetesRegistry } from "./registries/kubernetes/create-kubernetes-registry.ts";
import { OBJECT_SHAPES } from "./registries/kubernetes/object-shapes.ts";
import { REDUCERS, type ReducedKinds } from "./registries/kubernetes/reduce-object.ts";

const RESOURCES: { readonly [Of in keyof ReducedKinds]: WatchedResource } = {
  Namespace: { group: "", version: "v1", plural: "namespaces" },
  Node: { group: "", version: "v1", plural: "nodes" },
  Pod: { group: "", version: "v1", plural: "pods" },
  Service: { group: "", version: "v1", plural: "services" },
  EndpointSlice: { group: "discovery.k8s.io", version: "v1", plural: "endpointslices" },
};

/** Feeds a registry with the objects of a cluster. The watches, by what they watch, are stopped with the stack. */
export function followCluster(
  source: KubernetesSource,
  registry: Pick<KubernetesRegistry, "set" | "setVersion">,
  onChange: (kind: keyof ReducedKinds) => void,
  opened: CloseStack,
): readonly (readonly [string, ObjectWatch])[] {
  const follow = <Of extends keyof ReducedKinds>(kind: Of) => {
    const watch = source.watch<ReducedKinds[Of]>({
      resource: RESOURCES[kind],
      shape: OBJECT_SHAPES[kind],
      reduce: REDUCERS[kind],
      onVersion: (key, version) => registry.setVersion(kind, key, version),
      onChange: (key, after) => {
        registry.set(kind, key, after);
        onChange(kind);
      },
    });
    opened.defer(() => watch.stop());
    return [RESOURCES[kind].plural, watch] as const;
  };
  return (Object.keys(RESOURCES) as (keyof ReducedKinds)[]).map(follow);
}
