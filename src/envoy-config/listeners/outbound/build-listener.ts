import type { OutboundScope } from "../../../mesh-model/push-snapshot.ts";
import type { FilterChain, FilterChainMatch, Listener } from "../../../protobuf/gen/envoy/config/listener/v3.ts";
import type { HttpConnectionManager } from "../../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import type { AccessLogs } from "../../access-log/build-access-logs.ts";
import { hostLookupFilter } from "../../dynamic-dns.ts";
import { HTTP_PROXY_ROUTE } from "../../routes/route-name.ts";
import { buildPlace, isWildcardBind, listenerName } from "../addresses.ts";
import { PLAINTEXT_HTTP } from "../alpn.ts";
import { detectionTimeout } from "../detection-timeout.ts";
import { exactBalance } from "../exact-balance.ts";
import { buildHttpFilters } from "../http-filters.ts";
import { httpManagerFilter, httpManagerSettings, routesFrom } from "../http-manager.ts";
import { inspectorsFor } from "../listener-filters.ts";
import { catchAllChain } from "./catch-all.ts";
import type { HttpPart, OutboundEntry } from "./outbound-entry.ts";

export function buildOutboundListener(scope: OutboundScope, entry: OutboundEntry, accessLogs: AccessLogs): Listener {
  const { binds, port, isBound } = entry;
  const chains = [...httpChains(scope, entry, accessLogs), ...tcpChains(entry)];
  const matches = chains.map(({ filterChainMatch = {} }) => filterChainMatch);
  return {
    ...buildPlace(binds, port),
    trafficDirection: "OUTBOUND",
    // Connections come from the listener of all redirected ones; nobody connects to this address.
    ...(isBound ? { maxConnectionsToAcceptPerSocketEvent: 1 } : { bindToPort: false }),
    ...exactBalance(scope.traits.listening.outboundBalance),
    ...detectionTimeout(scope.mesh, inspectorsFor(matches)),
    ...withDefault(chains, () => catchAllChain(scope, "PassthroughFilterChain", accessLogs.traffic)),
  };
}

/** The manager alone, as for HTTP that needs no looking for. */
export function outboundHttpChain(
  scope: OutboundScope,
  name: string,
  part: HttpPart,
  accessLogs: AccessLogs,
): FilterChain {
  const { routeName, grpcWeb, looksUpHosts } = part;
  const lookup = looksUpHosts ? hostLookupFilter(scope.traits) : undefined;
  const absolute: Partial<HttpConnectionManager> = { httpProtocolOptions: { allowAbsoluteUrl: true } };
  const settings = httpManagerSettings(scope.mesh, scope.traits, accessLogs.traffic);
  const hidesDebugHeaders = settings.headers.envoyDebugHeaders?.disabled === true;
  const manager = httpManagerFilter(settings, {
    statPrefix: `outbound_${name};`,
    httpFilters: buildHttpFilters({ grpcWeb, hidesDebugHeaders, lookup }),
    ...routesFrom(routeName),
    ...(routeName === HTTP_PROXY_ROUTE && absolute),
  });
  return { filters: [manager] };
}

const PLAINTEXT_MATCH: FilterChainMatch = { transportProtocol: "raw_buffer", applicationProtocols: PLAINTEXT_HTTP };

/** Where anything else may come to the same address, HTTP has to be recognised. */
function httpChains(scope: OutboundScope, entry: OutboundEntry, accessLogs: AccessLogs): readonly FilterChain[] {
  const { http, binds, port, tcp, isBound } = entry;
  if (http === undefined) return [];
  const [primary = ""] = binds;
  const chain = outboundHttpChain(scope, listenerName(primary, port), http, accessLogs);
  const isMixed = tcp.length > 0 || (isWildcardBind(primary) && !isBound && !http.isProxy);
  return [isMixed ? { ...chain, filterChainMatch: PLAINTEXT_MATCH } : chain];
}

function tcpChains({ tcp }: OutboundEntry): readonly FilterChain[] {
  return tcp.map(({ match, filters }) => (isEmpty(match) ? { filters } : { filterChainMatch: match, filters }));
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
