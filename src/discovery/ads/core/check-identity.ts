import type { ProxyNode } from "../../../mesh-model/proxy/proxy-node.ts";
import { parseSpiffe } from "../../../mesh-model/workload-identity.ts";

/**
 * Whether who the client proved to be may have the configuration of the node it claims to be: namespace and, where the node names one,
 * service account must be those of its identity. Returns the matching identity, or why there is none.
 */
export function checkIdentity(
  identities: readonly string[],
  node: Pick<ProxyNode, "namespace" | "serviceAccount">,
): { readonly verified: string } | { readonly refusal: string } {
  const verified = identities.find((identity) => {
    const parsed = parseSpiffe(identity);
    if (parsed === undefined || parsed.namespace !== node.namespace) return false;
    return node.serviceAccount === "" || parsed.serviceAccount === node.serviceAccount;
  });
  if (verified !== undefined) return { verified };
  const claimed = `${node.namespace}/${node.serviceAccount}`;
  return { refusal: `authorization failed: no identities ([${identities.join(" ")}]) matched ${claimed}` };
}
