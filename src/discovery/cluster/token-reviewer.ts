import type { TokenReviewer, TokenReviewStatus } from "../../ca/index.ts";
import type { ClusterApi } from "./cluster-api.ts";

const RESOURCE = { group: "authentication.k8s.io", version: "v1", plural: "tokenreviews" };

export function createTokenReviewer(api: Pick<ClusterApi, "create">): TokenReviewer {
  return {
    review: async (token, audiences, signal) => {
      const review = {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token, audiences },
      };
      const { status } = await api.create(RESOURCE, review, { signal });
      return (status ?? {}) as TokenReviewStatus;
    },
  };
}
