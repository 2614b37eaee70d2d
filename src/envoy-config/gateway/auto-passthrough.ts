import { hostCovers } from "../../istio-api/values/hostname.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import { parseClusterName, sniOf } from "../cluster-name.ts";
import { generateEndpoints } from "../endpoints.ts";
import { MESH_ALPN } from "../listeners/alpn.ts";
import { tcpProxyTo } from "../listeners/tcp-proxy.ts";
import { gatewayPlaces, type RouterServer } from "./gateway-places.ts";
import type { GatewayChain } from "./l4-chains.ts";

/**
 * Connections of other networks' proxies name the cluster they want by their server name; they are passed on as they are, mutual TLS
 * and all.
 */
export function autoPassthroughChains(
  scope: OutboundScope,
  { hosts }: RouterServer,
  accessLog: Parameters<typeof tcpProxyTo>[1],
): readonly GatewayChain[] {
  return scope.services
    .filter((service) => !service.meshExternal && hosts.some(({ host }) => hostCovers(host, service.hostname)))
    .flatMap((service) => {
      const subsets = scope.destinationRule(service)?.spec.subsets.map(({ name }) => name) ?? [];
      const ports = service.ports.filter(({ protocol }) => protocol !== "UDP");
      return ports.flatMap(({ port }) =>
        ["", ...new Set(subsets)].map((subset) => sniOf("outbound", port, subset, service.hostname)),
      );
    })
    .map((name) => ({ names: [name], alpn: MESH_ALPN, filters: [tcpProxyTo(name, accessLog)] }));
}

/** The clusters for them: those of the service without TLS of their own, and without endpoints that have none. */
export function passthroughClusters(scope: OutboundScope, clusters: readonly Cluster[]): readonly Cluster[] {
  const isAsked = gatewayPlaces(scope).places.some(({ servers }) =>
    servers.some(({ tls }) => tls?.mode === "AUTO_PASSTHROUGH"),
  );
  if (!isAsked) return [];
  return clusters.flatMap((cluster) => {
    const parsed = parseClusterName(cluster.name ?? "");
    if (parsed === undefined) return [];
    const name = sniOf("outbound", parsed.port, parsed.subset, parsed.host);
    const { transportSocket, transportSocketMatches, typedExtensionProtocolOptions, loadAssignment, ...rest } = cluster;
    if (loadAssignment === undefined) return { ...rest, name };
    const assignment = generateEndpoints(scope, name);
    // Names to look up are in the cluster itself, which is nothing without them.
    return assignment.endpoints === undefined ? [] : { ...rest, name, loadAssignment: assignment };
  });
}
