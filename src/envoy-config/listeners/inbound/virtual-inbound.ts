import type { ProxyView } from "../../../mesh-model/push-snapshot.ts";
import type { FilterChain, Listener } from "../../../protobuf/gen/envoy/config/listener/v3.ts";
import type { AccessLogs } from "../../access-log/build-access-logs.ts";
import { BLACK_HOLE_CLUSTER, INBOUND_PASSTHROUGH_CLUSTER } from "../../cluster-name.ts";
import { buildPlace, wildcardBinds } from "../addresses.ts";
import { detectionTimeout } from "../detection-timeout.ts";
import { exactBalance } from "../exact-balance.ts";
import { inspectorsByPort, ORIGINAL_DESTINATION, ORIGINAL_SOURCE } from "../listener-filters.ts";
import { tcpProxyTo } from "../tcp-proxy.ts";
import { CHAIN_TABLE } from "./chain-table.ts";
import { buildInboundChains, type InboundSettings, type InboundTarget } from "./inbound-chains.ts";

export const VIRTUAL_INBOUND = "virtualInbound";

/** Takes every connection that the machine redirects to the proxy, and tells by its first destination what it is for. */
export function buildVirtualInbound(view: ProxyView, chains: readonly FilterChain[], accessLogs: AccessLogs): Listener {
  const { mesh } = view.snapshot;
  const isTransparent = view.node.interception === "TPROXY";
  const matches = chains.map(({ filterChainMatch = {} }) => filterChainMatch);
  return {
    ...buildPlace(wildcardBinds(view.node), mesh.proxyInboundListenPort),
    name: VIRTUAL_INBOUND,
    trafficDirection: "INBOUND",
    ...exactBalance(view.node.listening.inboundBalance),
    ...(isTransparent && { transparent: true }),
    ...detectionTimeout(mesh, [
      ORIGINAL_DESTINATION,
      ...(isTransparent ? [ORIGINAL_SOURCE] : []),
      ...inspectorsByPort(matches),
    ]),
    filterChains: chains,
    // Spreads accepted connections over the workers.
    maxConnectionsToAcceptPerSocketEvent: 1,
    ...(accessLogs.listener.length > 0 && { accessLog: accessLogs.listener }),
  };
}

/** A connection made to the listener itself would go round for ever. */
export function blackHoleChain(name: string, destinationPort: number): FilterChain {
  return {
    name,
    filterChainMatch: { destinationPort },
    filters: [tcpProxyTo(BLACK_HOLE_CLUSTER)],
  };
}

/** For ports of no service: what comes is sniffed and goes to where it was meant for. Rules may single out ports. */
export function passthroughChains(
  view: ProxyView,
  settings: InboundSettings,
  servedPorts: ReadonlySet<number>,
): readonly FilterChain[] {
  const { mtls, portMtls } = view.inbound;
  const singled = [...portMtls].filter(([port]) => !servedPorts.has(port)).toSorted(([a], [b]) => a - b);
  return [
    ...buildInboundChains(settings, PASSTHROUGH, CHAIN_TABLE[mtls].sniffed),
    ...singled
      .filter(([port]) => port !== view.snapshot.mesh.proxyInboundListenPort)
      .flatMap(([port, mode]) =>
        buildInboundChains(settings, { ...PASSTHROUGH, destinationPort: port }, CHAIN_TABLE[mode].sniffed),
      ),
  ];
}

const PASSTHROUGH: InboundTarget = {
  cluster: INBOUND_PASSTHROUGH_CLUSTER,
  protocol: "Unsupported",
  servicePort: 0,
  statPrefix: `${INBOUND_PASSTHROUGH_CLUSTER};`,
  chainName: (layer) => (layer === "http" ? `${VIRTUAL_INBOUND}-catchall-http` : VIRTUAL_INBOUND),
};
