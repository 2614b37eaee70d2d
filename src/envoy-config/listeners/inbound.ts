import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import type { FilterChain, Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { AccessLogs } from "../access-log/file-log.ts";
import { inboundLogs } from "../access-log/telemetry.ts";
import { type InboundPolicies, NO_POLICIES } from "../authz/access-policies.ts";
import { clusterName, INBOUND_PASSTHROUGH_CLUSTER } from "../shared/cluster-name.ts";
import { afterTls, meshTlsSocket, ownTlsSocket } from "../tls/server-tls.ts";
import { listenerAddress, listenerName, wildcardBinds } from "./addresses.ts";
import { httpManagerSettings } from "./http-manager.ts";
import {
  buildInboundChains,
  CHAIN_TABLE,
  type InboundSettings,
  type InboundTarget,
  OWN_TLS_CHAINS,
  trafficOf,
} from "./inbound-chains.ts";
import type { GeneratedListeners } from "./listener-conflict.ts";
import {
  detectionTimeout,
  exactBalance,
  inspectorsByPort,
  ORIGINAL_DESTINATION,
  ORIGINAL_SOURCE,
} from "./listener-filters.ts";
import { type ServedPort, servedPorts } from "./served-ports.ts";
import { blackHoleChain } from "./tcp-proxy.ts";

/**
 * The listener for redirected connections first, then those that are really bound. Of the node only interception, address families,
 * certificate files and, for ingress listeners that are bound without an address, its first address are used.
 */
export function generateInboundListeners(view: ProxyView, policies: InboundPolicies = NO_POLICIES): GeneratedListeners {
  // Routers listen where Gateways say.
  if (view.node.type === "router") return { listeners: [], conflicts: [] };
  const { mesh } = view.snapshot;
  const accessLogs = inboundLogs(view);
  const settings: InboundSettings = {
    ...httpManagerSettings(mesh, view.node, accessLogs.traffic),
    policies,
    tlsSocket: meshTlsSocket(mesh, view.node.serverTls),
  };
  const { ports, conflicts } = servedPorts(view);
  const redirected = ports.filter(({ bind }) => bind === undefined);
  const chainsOf = (port: ServedPort) => portChains(view, settings, port);
  const bound = ports.flatMap((port) =>
    port.bind === undefined ? [] : [buildBoundListener(view, port.bind, port, chainsOf(port), accessLogs)],
  );
  if (view.node.interception === "NONE") return { listeners: bound, conflicts };
  const chains = [
    blackHoleChain(`${VIRTUAL_INBOUND}-blackhole`, mesh.proxyInboundListenPort),
    ...passthroughChains(view, settings, new Set(redirected.map(({ targetPort }) => targetPort))),
    ...redirected.flatMap(chainsOf),
  ];
  return { listeners: [buildVirtualInbound(view, chains, accessLogs), ...bound], conflicts };
}

function portChains(view: ProxyView, settings: InboundSettings, port: ServedPort): readonly FilterChain[] {
  const { targetPort, servicePort } = port;
  const [anyAddress = ""] = wildcardBinds(view.node);
  const name = listenerName(port.bind ?? anyAddress, targetPort);
  const mode = view.inbound.portMtls.get(targetPort) ?? view.inbound.mtls;
  // Two certificates on one port would have the same match, so that the mesh's goes first.
  const ownSocket = mode === "DISABLE" && port.tls !== undefined ? ownTlsSocket(port.tls) : undefined;
  const protocol = ownSocket === undefined ? port.protocol : afterTls(port.protocol);
  const shapes = ownSocket === undefined ? CHAIN_TABLE[mode] : OWN_TLS_CHAINS;
  return buildInboundChains(
    settings,
    {
      cluster: clusterName("inbound", targetPort),
      protocol,
      servicePort,
      destinationPort: targetPort,
      statPrefix: `inbound_${name};`,
      chainName: () => name,
      ...(ownSocket !== undefined && { tlsSocket: ownSocket }),
    },
    shapes[trafficOf(protocol)],
  );
}

function buildBoundListener(
  view: ProxyView,
  bind: string,
  { targetPort }: ServedPort,
  filterChains: readonly FilterChain[],
  accessLogs: AccessLogs,
): Listener {
  const matches = filterChains.map(({ filterChainMatch = {} }) => filterChainMatch);
  return {
    ...listenerAddress([bind], targetPort),
    trafficDirection: "INBOUND",
    ...exactBalance(view.node.listening.inboundBalance),
    ...detectionTimeout(view.snapshot.mesh, inspectorsByPort(matches)),
    filterChains,
    maxConnectionsToAcceptPerSocketEvent: 1,
    ...(accessLogs.listener.length > 0 && { accessLog: accessLogs.listener }),
  };
}

export const VIRTUAL_INBOUND = "virtualInbound";

/** Takes every connection that the machine redirects to the proxy, and finds by its original destination what it is for. */
function buildVirtualInbound(view: ProxyView, chains: readonly FilterChain[], accessLogs: AccessLogs): Listener {
  const { mesh } = view.snapshot;
  const isTransparent = view.node.interception === "TPROXY";
  const matches = chains.map(({ filterChainMatch = {} }) => filterChainMatch);
  return {
    ...listenerAddress(wildcardBinds(view.node), mesh.proxyInboundListenPort),
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

/** For ports of no service: what comes is sniffed and goes to where it was meant for. Rules may single out ports. */
function passthroughChains(
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
