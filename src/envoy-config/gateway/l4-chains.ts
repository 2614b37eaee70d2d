import type { TcpMatch, TlsMatch } from "../../istio-api/specs.ts";
import { hostCovers } from "../../istio-api/values/hostname.ts";
import type { OutboundScope, VirtualServiceRule } from "../../mesh-model/push-snapshot.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { Filter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { generateEndpoints } from "../endpoints/load-assignment.ts";
import { type DestinationContext, filterToRoute, tcpProxyTo } from "../listeners/tcp-proxy.ts";
import { MESH_ALPN } from "../shared/alpn.ts";
import { type Attempt, madeOf } from "../shared/attempt.ts";
import { parseClusterName, sniOf, statNamed } from "../shared/cluster-name.ts";
import { boundTo, commonHosts, mergeGateways, type RouterServer } from "./gateway-servers.ts";

/** A chain before it is known which others it stands beside. */
export interface GatewayChain {
  /** Server names; none: all that no other chain has. */
  readonly names: readonly string[];
  readonly alpn?: readonly string[];
  readonly filters: readonly Filter[];
}

/** Where the bytes of a server without HTTP layer go: to the first `tcp` route that speaks of it. */
export function tcpFilters(context: DestinationContext, server: RouterServer): readonly Filter[] | undefined {
  for (const rule of rulesFor(context.scope, server)) {
    const filters = madeOf(rule.object, () => {
      const route = rule.spec.tcp.find(({ match }) => match.length === 0 || match.some((one) => applies(one, server)));
      return route && [filterToRoute(context, route.route, ruleName(rule))];
    });
    if (filters !== undefined) return filters;
  }
  return undefined;
}

/** TLS that others end, by server name; without the rules of which no chains can be made. */
export function passthroughChains(
  context: DestinationContext,
  server: RouterServer,
  attempt: Attempt,
): readonly GatewayChain[] {
  const chainsOf = (rule: VirtualServiceRule) =>
    rule.spec.tls.flatMap(({ match, route }) =>
      match
        .filter((one) => applies(one, server))
        .map(({ sniHosts }) => ({
          names: sniHosts.includes("*") ? [] : [...new Set(sniHosts.map((host) => host.toLowerCase()))],
          filters: [filterToRoute(context, route, ruleName(rule))],
        })),
    );
  return rulesFor(context.scope, server).flatMap(
    (rule) => attempt(rule.hosts.join(", "), () => chainsOf(rule), rule.object) ?? [],
  );
}

function rulesFor(scope: OutboundScope, { gateway, hosts }: RouterServer): readonly VirtualServiceRule[] {
  return boundTo(scope, gateway).filter(
    ({ object, hosts: ruled }) => commonHosts(hosts, object.namespace, ruled).length > 0,
  );
}

/** Connections come from anywhere, so that where they come from and were going is not asked. */
function applies({ port, gateways }: Pick<TcpMatch & TlsMatch, "port" | "gateways">, server: RouterServer): boolean {
  return (port === 0 || port === server.port) && (gateways.length === 0 || gateways.includes(server.gateway));
}

function ruleName({ object }: VirtualServiceRule): string {
  return `${object.name}.${object.namespace}`;
}

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
  const isAsked = mergeGateways(scope).merged.some(({ servers }) =>
    servers.some(({ tls }) => tls?.mode === "AUTO_PASSTHROUGH"),
  );
  if (!isAsked) return [];
  return clusters.flatMap((cluster) => {
    const parsed = parseClusterName(cluster.name ?? "");
    if (parsed === undefined) return [];
    const named = statNamed(sniOf("outbound", parsed.port, parsed.subset, parsed.host));
    const { transportSocket, transportSocketMatches, typedExtensionProtocolOptions, loadAssignment, ...rest } = cluster;
    if (loadAssignment === undefined) return { ...rest, ...named };
    const assignment = generateEndpoints(scope, named.name);
    // Names to look up are in the cluster itself, which is nothing without them.
    return assignment.endpoints === undefined ? [] : { ...rest, ...named, loadAssignment: assignment };
  });
}
