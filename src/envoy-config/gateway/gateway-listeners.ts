import type { GatewayTopology } from "../../istio-api/proxy-config/proxy-config.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { isDynamic } from "../../mesh-model/service.ts";
import type { Filter, FilterChain, Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import type { AccessLogs } from "../access-log/file-log.ts";
import { outboundLogs, type WorkloadLogs } from "../access-log/telemetry.ts";
import { buildAccessPolicies } from "../authz/access-policies.ts";
import { isWildcardBind, listenerAddress, wildcardBinds } from "../listeners/addresses.ts";
import { buildHttpFilters, httpManagerFilter, httpManagerSettings, routesFrom } from "../listeners/http-manager.ts";
import { exactBalance, inspectorsFor, PROXY_PROTOCOL } from "../listeners/listener-filters.ts";
import type { DestinationContext } from "../listeners/tcp-proxy.ts";
import { hostLookupFilter } from "../shared/dynamic-dns.ts";
import { type MergedServers, mergeGateways, type RouterServer, sniHosts } from "./gateway-servers.ts";
import { gatewayTlsSocket } from "./gateway-tls.ts";
import { autoPassthroughChains, type GatewayChain, passthroughChains, tcpFilters } from "./l4-chains.ts";

interface GeneratedGateway {
  readonly listeners: readonly Listener[];
  /** What objects ask for and cannot be had. */
  readonly problems: readonly string[];
}

/** The listeners of all routers of the scope. Ports without any filter chain have none. */
export function generateGatewayListeners(scope: OutboundScope): GeneratedGateway {
  const { merged, problems } = mergeGateways(scope);
  const policies = buildAccessPolicies({ node: scope.traits, snapshot: scope.snapshot, outbound: scope });
  const logs = outboundLogs(scope);
  return {
    listeners: merged.flatMap((listener) => buildListener(scope, listener, { policies, logs }) ?? []),
    problems: [...problems, ...policies.problems, ...logs.problems],
  };
}

interface Shared {
  readonly policies: ReturnType<typeof buildAccessPolicies>;
  readonly logs: WorkloadLogs;
}

function buildListener(scope: OutboundScope, listener: MergedServers, shared: Shared): Listener | undefined {
  const { bind, port, servers } = listener;
  const named = listenerAddress(bind === "" || isWildcardBind(bind) ? wildcardBinds(scope.traits) : [bind], port);
  const filterChains = onlyFirst(servers.flatMap((server) => chainsOf(scope, named.name ?? "", server, shared))).map(
    toFilterChain,
  );
  if (filterChains.length === 0) return undefined;
  const isTls = servers.some(({ kind }) => kind === "https" || kind === "tls");
  const listenerFilters = [
    ...(gatewayTopology(scope).proxyProtocol === undefined ? [] : [PROXY_PROTOCOL]),
    ...(isTls ? inspectorsFor([{ transportProtocol: "tls" }]) : []),
  ];
  const { listener: accessLog } = shared.logs;
  return {
    ...named,
    trafficDirection: "OUTBOUND",
    ...(listenerFilters.length > 0 && { listenerFilters }),
    filterChains,
    ...exactBalance(scope.traits.listening.outboundBalance),
    maxConnectionsToAcceptPerSocketEvent: 1,
    ...(accessLog.length > 0 && { accessLog }),
  };
}

type ReadyChain = GatewayChain & Pick<FilterChain, "transportSocket">;

function chainsOf(scope: OutboundScope, listener: string, server: RouterServer, shared: Shared): readonly ReadyChain[] {
  const { policies, logs } = shared;
  const { tls, kind } = server;
  const context: DestinationContext = { scope, listenPort: server.port, accessLog: logs.traffic };
  const network = (chain: ReadyChain) => ({ ...chain, filters: [...policies.network, ...chain.filters] });
  if (kind === "http" || kind === "https") {
    // Plain servers of one listener share their routes, and so their manager.
    const filters = [gatewayHttpFilter(scope, listener, server, { security: policies.http, accessLogs: logs })];
    return [kind === "http" || tls === undefined ? { names: [], filters } : ended(scope, server, filters)];
  }
  if (tls?.mode === "AUTO_PASSTHROUGH") return autoPassthroughChains(scope, server, logs.traffic).map(network);
  if (tls?.mode === "PASSTHROUGH") return passthroughChains(context, server).map(network);
  const filters = tcpFilters(context, server);
  if (filters === undefined) return [];
  return [network(tls === undefined ? { names: [], filters } : ended(scope, server, filters))];
}

function ended({ mesh }: OutboundScope, { hosts, tls }: RouterServer, filters: ReadyChain["filters"]): ReadyChain {
  const transportSocket = tls && gatewayTlsSocket(tls, mesh.tlsDefaults);
  return { names: sniHosts(hosts), filters, ...(transportSocket && { transportSocket }) };
}

/** Each name is for the first chain that has it: Envoy refuses a listener with two chains of the same match. */
function onlyFirst(chains: readonly ReadyChain[]): readonly ReadyChain[] {
  const taken = new Set<string>();
  return chains.flatMap((chain) => {
    const names = chain.names.length === 0 ? ["*"] : chain.names;
    const free = names.filter((name) => !taken.has(name));
    for (const name of free) taken.add(name);
    if (free.length === 0) return [];
    return chain.names.length === free.length || chain.names.length === 0 ? chain : { ...chain, names: free };
  });
}

function toFilterChain({ names, alpn, filters, transportSocket }: ReadyChain): FilterChain {
  const match = { ...(names.length > 0 && { serverNames: names }), ...(alpn && { applicationProtocols: alpn }) };
  return {
    ...(Object.keys(match).length > 0 && { filterChainMatch: match }),
    filters,
    ...(transportSocket && { transportSocket }),
    // A client that never finishes its handshake would stay for ever.
    transportSocketConnectTimeout: "15s",
  };
}

/** The HTTP layer of a router: clients are strangers, so that what they say of themselves is replaced or taken away. */
function gatewayHttpFilter(
  scope: OutboundScope,
  listener: string,
  { routeName, protocol }: RouterServer,
  { security, accessLogs }: { readonly security: readonly HttpFilter[]; readonly accessLogs: AccessLogs },
): Filter {
  const settings = httpManagerSettings(scope.mesh, scope.traits, accessLogs.traffic);
  const { numTrustedProxies = 0, forwardClientCertDetails } = gatewayTopology(scope);
  const isSaid = forwardClientCertDetails !== undefined && forwardClientCertDetails !== "UNDEFINED";
  const forward = isSaid ? forwardClientCertDetails : "SANITIZE_SET";
  const forwardsDetails = forward === "SANITIZE_SET" || forward === "APPEND_FORWARD";
  const lookup = scope.services.some(isDynamic) ? hostLookupFilter(scope.traits) : undefined;
  return httpManagerFilter(settings, {
    statPrefix: `outbound_${listener};`,
    httpFilters: buildHttpFilters({
      grpcWeb: protocol === "GRPC-Web",
      hidesDebugHeaders: settings.headers.envoyDebugHeaders?.disabled === true,
      security,
      lookup,
    }),
    ...routesFrom(routeName),
    useRemoteAddress: true,
    ...(numTrustedProxies > 0 && { xffNumTrustedHops: numTrustedProxies }),
    forwardClientCertDetails: forward,
    ...(forwardsDetails && { setCurrentClientCertDetails: { subject: true, cert: true, dns: true, uri: true } }),
    httpProtocolOptions: {},
    serverName: "istio-envoy",
  });
}

/** What stands in front of the router. What a proxy's own configuration leaves out is not set. */
function gatewayTopology({ mesh, traits }: Pick<OutboundScope, "mesh" | "traits">): GatewayTopology {
  const { topology, headers } = traits.listening;
  if (topology !== undefined || headers !== undefined) return topology ?? {};
  const { gatewayTopology: ofMesh } = (mesh.source.defaultConfig ?? {}) as {
    readonly gatewayTopology?: GatewayTopology;
  };
  return ofMesh ?? {};
}
