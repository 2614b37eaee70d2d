import { errorCode, errorMessage } from "../../base/coded-error.ts";
import type { ClusterApi } from "../cluster/cluster-api.ts";
import { ALWAYS_REJECT } from "./review-rule.ts";

/** Kubernetes' words for an object that a webhook has refused, and for one that it cannot be asked about in a dry run. */
const DENIED = "denied the request";
const NO_DRY_RUN = "does not support dry run";

/**
 * Why a bad rule object would not be refused yet; undefined when it was: from then on the validation can be required.
 * Asked with the dry run of an object that is always refused. Without the kind there is nothing that could be asked.
 */
export async function notReachedReason(
  api: ClusterApi,
  { namespace, revision }: { readonly namespace: string; readonly revision: string },
): Promise<string | undefined> {
  const resource = { group: "networking.istio.io", version: "v1", plural: "gateways", namespace };
  const object = {
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    metadata: {
      name: "invalid-gateway",
      namespace,
      labels: { "istio.io/rev": revision },
      annotations: { [ALWAYS_REJECT]: "true" },
    },
    spec: {},
  };
  try {
    await api.create(resource, object, { isDryRun: true });
    return "an invalid object was not refused";
  } catch (thrown) {
    const text = errorMessage(thrown);
    if (text.includes(DENIED) || text.includes(NO_DRY_RUN) || errorCode(thrown) === "not-found") return undefined;
    return text;
  }
}
