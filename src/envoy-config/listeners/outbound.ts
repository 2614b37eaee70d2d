import { isUnixAddress } from "../../istio-api/values/address.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { isDynamic } from "../../mesh-model/service.ts";
import type { FilterChain, FilterChainMatch, Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { HttpConnectionManager } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { catchAllHost, UNKNOWN_HOSTS } from "../routes/generate-route.ts";
import { HTTP_PROXY_ROUTE, routeConfiguration } from "../routes/route-configuration.ts";
import { PLAINTEXT_HTTP } from "../shared/alpn.ts";
import { plainly } from "../shared/attempt.ts";
import { hostLookupFilter } from "../shared/dynamic-dns.ts";
import { type OutboundReporting, outboundReporting } from "../telemetry/reporting.ts";
import { IN_FRONT, scopePlugins } from "../wasm/wasm-plugins.ts";
import { isWildcardBind, listenerAddress, listenerName, loopbackBinds, wildcardBinds } from "./addresses.ts";
import { buildHttpFilters, httpManagerFilter, httpManagerSettings, routesFrom } from "./http-manager.ts";
import {
  type ConflictKind,
  type GeneratedListeners,
  isReservedPort,
  type ListenerConflict,
} from "./listener-conflict.ts";
import {
  detectionTimeout,
  exactBalance,
  inspectorsByPort,
  inspectorsFor,
  ORIGINAL_DESTINATION,
} from "./listener-filters.ts";
import { collectEntries } from "./outbound-entries.ts";
import type { HttpPart, OutboundEntry } from "./outbound-entry.ts";
import { blackHoleChain, catchAllChain } from "./tcp-proxy.ts";

/** For calls to services, then for the HTTP proxy, then for everything that was redirected. */
export function generateOutboundListeners(scope: OutboundScope, attempt = plainly): GeneratedListeners {
  const reporting = outboundReporting(scope);
  const conflicts: ListenerConflict[] = [];
  const httpProxy = buildHttpProxyListener(scope, reporting);
  const taken = new Set([...ingressAddresses(scope), ...addressesOf(httpProxy)]);
  const listeners: Listener[] = [];
  for (const entry of collectEntries(scope, reporting, (conflict) => conflicts.push(conflict), attempt)) {
    const { binds, port } = entry;
    const free = binds.filter((bind) => !taken.has(listenerName(bind, port)));
    const kind = unusable(scope, entry) ?? (free.length === 0 ? "address" : undefined);
    if (kind !== undefined) {
      const listener = listenerName(binds[0] ?? "", port);
      conflicts.push({ kind, listener, winner: "", dropped: ownerOf(entry) });
      continue;
    }
    for (const bind of free) taken.add(listenerName(bind, port));
    const built = attempt(ownerOf(entry), () => buildOutboundListener(scope, { ...entry, binds: free }, reporting));
    if (built !== undefined) listeners.push(built);
  }
  if (httpProxy !== undefined) listeners.push(httpProxy);
  if (scope.traits.interception !== "NONE") listeners.push(buildVirtualOutbound(scope, reporting, listeners));
  return { listeners, conflicts };
}

/** What the Sidecar object binds for calls to the workload goes before. */
function ingressAddresses({ sidecar, traits }: OutboundScope): readonly string[] {
  const ingress = sidecar?.spec.ingress ?? [];
  return ingress
    .filter(({ captureMode, bind }) => bind !== "" && (captureMode === "NONE" || traits.interception === "NONE"))
    .map(({ bind, port }) => listenerName(bind, port?.number ?? 0));
}

function addressesOf(listener: Listener | undefined): readonly string[] {
  if (listener === undefined) return [];
  const addresses = [listener.address, ...(listener.additionalAddresses ?? []).map(({ address }) => address)];
  return addresses.map((address) =>
    listenerName(address?.socketAddress?.address ?? "", address?.socketAddress?.portValue ?? 0),
  );
}

/** The proxy's own listeners have all addresses; whoever binds one of their ports, or waits for every address of it, is in their way. */
function unusable({ mesh, traits }: OutboundScope, { binds, port, isBound }: OutboundEntry): ConflictKind | undefined {
  const [primary = ""] = binds;
  if (isUnixAddress(primary)) return undefined;
  if ((isBound || isWildcardBind(primary)) && isReservedPort(mesh, traits.listening, port)) return "reserved-port";
  return isBound && traits.unprivileged && port < 1024 ? "privileged-port" : undefined;
}

function ownerOf({ tcp, http }: OutboundEntry): string {
  return tcp[0]?.owners[0] ?? http?.routeName ?? "";
}

const VIRTUAL_OUTBOUND = "virtualOutbound";

/** Takes every redirected connection and hands it to the listener of its first destination, if there is one. */
function buildVirtualOutbound(
  scope: OutboundScope,
  reporting: OutboundReporting,
  listeners: readonly Listener[],
): Listener {
  const port = scope.mesh.proxyListenPort;
  const unknown = unknownHostsChains(scope, reporting);
  return {
    ...listenerAddress(wildcardBinds(scope.traits), port),
    name: VIRTUAL_OUTBOUND,
    trafficDirection: "OUTBOUND",
    useOriginalDst: true,
    ...(scope.traits.interception === "TPROXY" && { transparent: true }),
    filterChains: [
      blackHoleChain(`${VIRTUAL_OUTBOUND}-blackhole`, port),
      ...unknown,
      catchAllChain(scope, `${VIRTUAL_OUTBOUND}-catchall-tcp`, reporting.tcp),
    ],
    ...(unknown.length > 0
      ? detectionTimeout(scope.mesh, [...reporting.listenerFilters, ...unknownHostsInspectors(unknown, listeners)])
      : reporting.listenerFilters.length > 0 && { listenerFilters: reporting.listenerFilters }),
    maxConnectionsToAcceptPerSocketEvent: 1,
    ...(reporting.listener.length > 0 && { accessLog: reporting.listener }),
  };
}

/** HTTP on ports that no service has, to hosts that are looked up as they are called. */
function unknownHostsChains(scope: OutboundScope, reporting: OutboundReporting): readonly FilterChain[] {
  const { mode, egressProxy, looksUpHosts = false } = scope.outboundTrafficPolicy;
  if (!looksUpHosts || mode === "REGISTRY_ONLY" || egressProxy !== undefined) return [];
  const part = { routeName: UNKNOWN_HOSTS, grpcWeb: false, looksUpHosts, isProxy: false };
  const routeConfig = routeConfiguration(UNKNOWN_HOSTS, [catchAllHost(scope)], true);
  const name = `${VIRTUAL_OUTBOUND}_${UNKNOWN_HOSTS}`;
  const chain = outboundHttpChain(scope, name, 0, part, reporting, { routeConfig });
  const filterChainMatch = { applicationProtocols: PLAINTEXT_HTTP };
  return [{ ...chain, name: `${VIRTUAL_OUTBOUND}-catchall-http`, filterChainMatch }];
}

/**
 * All redirected connections pass them before they are handed over: on ports of services, where servers may speak first, they look at
 * nothing. They go by the port that was called, which has to be found out first.
 */
function unknownHostsInspectors(chains: readonly FilterChain[], listeners: readonly Listener[]) {
  const ports = listeners.map(({ address }) => address?.socketAddress?.portValue ?? 0);
  const known = [...new Set(ports)].map((destinationPort) => ({ destinationPort }));
  return [
    ORIGINAL_DESTINATION,
    ...inspectorsByPort([...chains.map(({ filterChainMatch = {} }) => filterChainMatch), ...known]),
  ];
}

/** For applications with an explicit proxy, as of `http_proxy`. */
function buildHttpProxyListener(scope: OutboundScope, reporting: OutboundReporting): Listener | undefined {
  const port = scope.traits.httpProxyPort || scope.mesh.proxyHttpPort;
  if (port === 0) return undefined;
  const address = listenerAddress(loopbackBinds(scope.traits), port);
  const looksUpHosts = scope.services.some(isDynamic);
  const part = { routeName: HTTP_PROXY_ROUTE, grpcWeb: false, looksUpHosts, isProxy: true };
  return {
    ...address,
    trafficDirection: "OUTBOUND",
    ...exactBalance(scope.traits.listening.outboundBalance),
    ...detectionTimeout(scope.mesh, reporting.listenerFilters),
    filterChains: [outboundHttpChain(scope, address.name ?? "", port, part, reporting)],
    maxConnectionsToAcceptPerSocketEvent: 1,
  };
}

function buildOutboundListener(scope: OutboundScope, entry: OutboundEntry, reporting: OutboundReporting): Listener {
  const { binds, port, isBound } = entry;
  const chains = [...httpChains(scope, entry, reporting), ...tcpChains(scope, entry)];
  const matches = chains.map(({ filterChainMatch = {} }) => filterChainMatch);
  return {
    ...listenerAddress(binds, port),
    trafficDirection: "OUTBOUND",
    // Connections come from the listener of all redirected ones; this address is not bound.
    ...(isBound ? { maxConnectionsToAcceptPerSocketEvent: 1 } : { bindToPort: false }),
    ...exactBalance(scope.traits.listening.outboundBalance),
    ...detectionTimeout(scope.mesh, [...reporting.listenerFilters, ...inspectorsFor(matches)]),
    ...withDefault(chains, () => catchAllChain(scope, "PassthroughFilterChain", reporting.tcp)),
  };
}

/** The manager alone, as for HTTP that needs no looking for. */
function outboundHttpChain(
  scope: OutboundScope,
  name: string,
  port: number,
  part: HttpPart,
  reporting: OutboundReporting,
  routes: Pick<HttpConnectionManager, "rds" | "routeConfig"> = routesFrom(part.routeName),
): FilterChain {
  const { routeName, grpcWeb, looksUpHosts } = part;
  const isLookedUp = looksUpHosts || scope.outboundTrafficPolicy.looksUpHosts === true;
  const lookup = isLookedUp ? hostLookupFilter(scope.traits) : undefined;
  const absolute: Partial<HttpConnectionManager> = { httpProtocolOptions: { allowAbsoluteUrl: true } };
  const settings = httpManagerSettings(scope.mesh, scope.traits, reporting.http, reporting.tracing);
  const hidesDebugHeaders = settings.headers.envoyDebugHeaders?.disabled === true;
  const manager = httpManagerFilter(settings, {
    statPrefix: `outbound_${name};`,
    httpFilters: buildHttpFilters({
      grpcWeb,
      hidesDebugHeaders,
      lookup,
      sessions: scope.mesh.persistentSessions,
      security: scopePlugins(scope).http([], IN_FRONT, { mode: "CLIENT", port }),
    }),
    ...routes,
    ...(routeName === HTTP_PROXY_ROUTE && absolute),
  });
  return { filters: [manager] };
}

const PLAINTEXT_MATCH: FilterChainMatch = { transportProtocol: "raw_buffer", applicationProtocols: PLAINTEXT_HTTP };

/** Where anything else may come to the same address, HTTP has to be recognised. */
function httpChains(scope: OutboundScope, entry: OutboundEntry, reporting: OutboundReporting): readonly FilterChain[] {
  const { http, binds, port, tcp, isBound } = entry;
  if (http === undefined) return [];
  const [primary = ""] = binds;
  const chain = outboundHttpChain(scope, listenerName(primary, port), port, http, reporting);
  const isMixed = tcp.length > 0 || (isWildcardBind(primary) && !isBound && !http.isProxy);
  return [isMixed ? { ...chain, filterChainMatch: PLAINTEXT_MATCH } : chain];
}

function tcpChains(scope: OutboundScope, { tcp, port }: OutboundEntry): readonly FilterChain[] {
  const plugins = scopePlugins(scope).network([], IN_FRONT, { mode: "CLIENT", port });
  return tcp.map(({ match, filters }) => ({
    ...(!isEmpty(match) && { filterChainMatch: match }),
    filters: [...plugins, ...filters],
  }));
}

/** The chain that matches everything is the default of the others; where all have conditions, the rest is let through or not. */
function withDefault(
  chains: readonly FilterChain[],
  catchAll: () => FilterChain,
): Pick<Listener, "filterChains" | "defaultFilterChain"> {
  const open = chains.find(({ filterChainMatch }) => filterChainMatch === undefined);
  if (open === undefined) return { filterChains: chains, defaultFilterChain: catchAll() };
  if (chains.length === 1) return { filterChains: chains };
  return { filterChains: chains.filter((chain) => chain !== open), defaultFilterChain: open };
}

function isEmpty(match: FilterChainMatch): boolean {
  return Object.keys(match).length === 0;
}
