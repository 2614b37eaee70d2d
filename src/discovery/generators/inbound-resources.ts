import type { EncodedResource } from "../ads-server/resource-source.ts";
import type { ProxyNode } from "../proxy/proxy-node.ts";
import type { ProxyView } from "../snapshot/push-snapshot.ts";
import { buildAccessPolicies } from "./authz/index.ts";
import { generateInboundClusters } from "./clusters.ts";
import { encodeResource } from "./encode-resource.ts";
import { generateInboundListeners } from "./listeners.ts";
import type { ResourceGuard } from "./resource-guard.ts";

/** What a proxy needs for its own workload. */
export function inboundResources(
  view: ProxyView,
  type: "CDS" | "LDS",
  guard: ResourceGuard,
): readonly EncodedResource[] {
  const nameOf = ({ name = "" }: { readonly name?: string | undefined }) => name;
  if (type === "CDS") {
    return guard.each(type, generateInboundClusters(view), nameOf, (cluster) =>
      encodeResource("envoy.config.cluster.v3.Cluster", nameOf(cluster), cluster),
    );
  }
  const policies = buildAccessPolicies(view);
  const { listeners, conflicts } = generateInboundListeners(view, policies);
  guard.conflicts(conflicts);
  for (const reason of policies.problems) {
    guard.report({ effect: "refused-rule", type, resource: "virtualInbound", reason });
  }
  return guard.each(type, listeners, nameOf, (listener) =>
    encodeResource("envoy.config.listener.v3.Listener", nameOf(listener), listener),
  );
}

/** What inbound generators read of a node besides its inbound scope. */
export function inboundTraits(node: ProxyNode): string {
  const { addresses, ipv4, ipv6, interception, unprivileged, listening, preservesHeaderCase, serverTls } = node;
  return JSON.stringify([addresses, ipv4, ipv6, interception, unprivileged, listening, preservesHeaderCase, serverTls]);
}
