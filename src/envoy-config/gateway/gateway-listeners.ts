import type { GatewayTopology } from "../../istio-api/proxy-config/proxy-config.ts";
import { isUnixAddress } from "../../istio-api/values/address.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { gatewayName } from "../../mesh-model/scopes/gateway-content.ts";
import { isDynamic } from "../../mesh-model/service.ts";
import type { Filter, FilterChain, Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type {
  HttpConnectionManager,
  HttpFilter,
} from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { buildAccessPolicies } from "../authz/access-policies.ts";
import { isWildcardBind, listenerAddress, wildcardBinds } from "../listeners/addresses.ts";
import { buildHttpFilters, httpManagerFilter, httpManagerSettings, routesFrom } from "../listeners/http-manager.ts";
import { exactBalance, inspectorsFor, PROXY_PROTOCOL } from "../listeners/listener-filters.ts";
import type { DestinationContext } from "../listeners/tcp-proxy.ts";
import { type Attempt, type FailedObject, plainly } from "../shared/attempt.ts";
import { hostLookupFilter } from "../shared/dynamic-dns.ts";
import { type OutboundReporting, outboundReporting } from "../telemetry/reporting.ts";
import { scopePlugins, type WasmPlugins } from "../wasm/wasm-plugins.ts";
import { type MergedServers, mergeGateways, type RouterServer, sniHosts } from "./gateway-servers.ts";
import { gatewayQuicSocket, gatewayTlsSocket } from "./gateway-tls.ts";
import { autoPassthroughChains, type GatewayChain, passthroughChains, tcpFilters } from "./l4-chains.ts";
import { isQuicServer, QUIC_CODEC, QUIC_LISTENER, quicAddress } from "./quic.ts";

interface GeneratedGateway {
  readonly listeners: readonly Listener[];
  /** What objects ask for and cannot be had. */
  readonly problems: readonly string[];
  /** Access policies and Telemetry objects that nothing can be built of. */
  readonly failed: readonly FailedObject[];
}

/**
 * The listeners of all routers of the scope. Ports without any filter chain have none. A server that cannot be made costs the others
 * nothing.
 */
export function generateGatewayListeners(scope: OutboundScope, attempt = plainly): GeneratedGateway {
  const { merged, problems, failures } = mergeGateways(scope);
  for (const { gateway, thrown } of failures) attempt(gatewayName(gateway), () => rethrow(thrown), gateway);
  const policies = buildAccessPolicies({ node: scope.traits, snapshot: scope.snapshot, outbound: scope });
  const reporting = outboundReporting(scope);
  const plugins = scopePlugins(scope);
  return {
    listeners: merged.flatMap((listener) => {
      const shared = { policies, plugins, reporting, attempt };
      return [buildListener(scope, listener, shared) ?? [], quicListener(scope, listener, shared) ?? []].flat();
    }),
    problems: [...problems, ...policies.problems, ...reporting.problems],
    failed: [...policies.failed, ...reporting.failed],
  };
}

interface Shared {
  readonly policies: ReturnType<typeof buildAccessPolicies>;
  readonly plugins: WasmPlugins;
  readonly reporting: OutboundReporting;
  readonly attempt: Attempt;
}

function rethrow(thrown: unknown): never {
  throw thrown;
}

function buildListener(scope: OutboundScope, listener: MergedServers, shared: Shared): Listener | undefined {
  const { bind, port, servers } = listener;
  const named = listenerAddress(bind === "" || isWildcardBind(bind) ? wildcardBinds(scope.traits) : [bind], port);
  const made = servers.flatMap(
    (server) =>
      shared.attempt(named.name ?? "", () => chainsOf(scope, named.name ?? "", server, shared), server.object) ?? [],
  );
  const filterChains = onlyFirst(made).map(toFilterChain);
  if (filterChains.length === 0) return undefined;
  const isTls = servers.some(({ kind }) => kind === "https" || kind === "tls");
  const listenerFilters = [
    ...(gatewayTopology(scope).proxyProtocol === undefined ? [] : [PROXY_PROTOCOL]),
    ...shared.reporting.listenerFilters,
    ...(isTls ? inspectorsFor([{ transportProtocol: "tls" }]) : []),
  ];
  const { listener: accessLog } = shared.reporting;
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

/** HTTP/3 beside the TLS servers of a port, where the mesh has it: of each server that QUIC can do, under the same names. */
function quicListener(scope: OutboundScope, { bind, port, servers }: MergedServers, shared: Shared) {
  if (!scope.mesh.quicListeners || isUnixAddress(bind)) return undefined;
  const binds = bind === "" || isWildcardBind(bind) ? wildcardBinds(scope.traits) : [bind];
  const named = quicAddress(binds, port);
  const name = named.name ?? "";
  const chains = servers
    .filter(isQuicServer)
    .flatMap((server) => shared.attempt(name, () => quicChain(scope, name, server, shared), server.object) ?? []);
  if (chains.length === 0) return undefined;
  const { listener: accessLog } = shared.reporting;
  return {
    ...named,
    ...QUIC_LISTENER,
    filterChains: onlyFirst(chains).map(toFilterChain),
    ...(accessLog.length > 0 && { accessLog }),
  };
}

function quicChain(
  scope: OutboundScope,
  listener: string,
  server: RouterServer,
  { plugins, policies, reporting }: Shared,
): ReadyChain | undefined {
  if (server.tls === undefined) return undefined;
  const security = plugins.http(policies.http, policies.places.http, { mode: "CLIENT", port: server.port });
  return {
    names: sniHosts(server.hosts),
    filters: [gatewayHttpFilter(scope, listener, server, { security, reporting, codec: QUIC_CODEC })],
    transportSocket: gatewayQuicSocket(server.tls, scope.mesh.tlsDefaults),
  };
}

type ReadyChain = GatewayChain & Pick<FilterChain, "transportSocket">;

function chainsOf(scope: OutboundScope, listener: string, server: RouterServer, shared: Shared): readonly ReadyChain[] {
  const { policies, plugins, reporting } = shared;
  const place = { mode: "CLIENT", port: server.port } as const;
  const { tls, kind } = server;
  const context: DestinationContext = { scope, listenPort: server.port, accessLog: reporting.tcp };
  const inFront = plugins.network(policies.network, policies.places.network, place);
  const network = (chain: ReadyChain) => ({ ...chain, filters: [...inFront, ...chain.filters] });
  if (kind === "http" || kind === "https") {
    // Plain servers of one listener share their routes, and so their manager.
    const security = plugins.http(policies.http, policies.places.http, place);
    const filters = [gatewayHttpFilter(scope, listener, server, { security, reporting })];
    return [kind === "http" || tls === undefined ? { names: [], filters } : ended(scope, server, filters)];
  }
  if (tls?.mode === "AUTO_PASSTHROUGH") return autoPassthroughChains(scope, server, reporting.tcp).map(network);
  if (tls?.mode === "PASSTHROUGH") return passthroughChains(context, server, shared.attempt).map(network);
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

interface HttpLayer {
  readonly security: readonly HttpFilter[];
  readonly reporting: OutboundReporting;
  readonly codec?: Pick<HttpConnectionManager, "codecType" | "http3ProtocolOptions">;
}

/** The HTTP layer of a router: clients are strangers, so that what they say of themselves is replaced or taken away. */
function gatewayHttpFilter(
  scope: OutboundScope,
  listener: string,
  { routeName, protocol }: RouterServer,
  { security, reporting, codec = {} }: HttpLayer,
): Filter {
  const settings = httpManagerSettings(scope.mesh, scope.traits, reporting.http, reporting.tracing);
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
      sessions: scope.mesh.persistentSessions,
    }),
    ...routesFrom(routeName),
    useRemoteAddress: true,
    ...(numTrustedProxies > 0 && { xffNumTrustedHops: numTrustedProxies }),
    forwardClientCertDetails: forward,
    ...(forwardsDetails && { setCurrentClientCertDetails: { subject: true, cert: true, dns: true, uri: true } }),
    httpProtocolOptions: {},
    ...codec,
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
