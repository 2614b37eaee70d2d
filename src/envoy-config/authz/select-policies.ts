import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import { selects } from "../../mesh-model/selector.ts";

type Kind = "AuthorizationPolicy" | "RequestAuthentication";

/** The part of a view that access to its workload follows from. */
export interface AccessView extends Pick<ProxyView, "snapshot" | "outbound"> {
  readonly node: Pick<ProxyNode, "namespace" | "labels">;
}

/**
 * Policies for the view's workload. Those that name a target are for gateways. The root namespace's come first, but of several that
 * know one issuer the workload's own is tried first.
 */
export function selectPolicies<Of extends Kind>({ node, snapshot }: AccessView, kind: Of): readonly ConfigObject<Of>[] {
  const { rootNamespace } = snapshot.mesh;
  const namespaces = [...new Set([rootNamespace, node.namespace])];
  return (kind === "RequestAuthentication" ? namespaces.toReversed() : namespaces)
    .flatMap((namespace) => snapshot.configs.list(kind, namespace))
    .filter(({ spec }) => {
      const { selector, targetRef, targetRefs } = spec;
      return targetRef === undefined && targetRefs.length === 0 && selects(selector?.matchLabels ?? {}, node.labels);
    });
}
