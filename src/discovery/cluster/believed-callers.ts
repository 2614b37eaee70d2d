import type { TokenReviewer, TokenReviewStatus } from "../../ca/index.ts";
import { fields, textOf } from "../../mesh-model/kubernetes-object.ts";
import type { KubernetesSource, ObjectWatch } from "../kubernetes-source.ts";
import type { ClusterApi } from "./cluster-api.ts";
import { createPodIndex, type PlacedPod, type PodIndex } from "./core/impersonation.ts";

const TOKEN_REVIEWS = { group: "authentication.k8s.io", version: "v1", plural: "tokenreviews" };

/** Tokens of accounts, as the cluster that issued them judges. */
export function createTokenReviewer(api: Pick<ClusterApi, "create">): TokenReviewer {
  return {
    review: async (token, audiences, signal) => {
      const review = {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token, audiences },
      };
      const { status } = await api.create(TOKEN_REVIEWS, review, { signal });
      return (status ?? {}) as TokenReviewStatus;
    },
  };
}

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
