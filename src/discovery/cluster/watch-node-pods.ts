import { fields, textOf } from "../../mesh-model/kubernetes-object.ts";
import type { KubernetesSource, ObjectWatch } from "../kubernetes-source.ts";
import { createPodIndex, type PlacedPod, type PodIndex } from "./core/pod-index.ts";

/** Pods of the whole cluster, for node authorization; a pod that has failed serves no identity any more. */
export function watchNodePods(source: KubernetesSource): { readonly pods: PodIndex; readonly watch: ObjectWatch } {
  const pods = createPodIndex();
  const watch = source.watch<PlacedPod>({
    resource: { group: "", version: "v1", plural: "pods", fieldSelector: "status.phase!=Failed" },
    reduce: ({ metadata = {}, spec }) => {
      const { serviceAccountName, nodeName } = fields(spec);
      return {
        uid: textOf(fields(metadata).uid),
        namespace: textOf(metadata.namespace),
        account: textOf(serviceAccountName),
        node: textOf(nodeName),
      };
    },
    onChange: (key, after) => pods.set(key, after),
  });
  return { pods, watch };
}
