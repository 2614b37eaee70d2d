import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import type { FilterChain, Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { type InboundPolicies, NO_POLICIES } from "../authz/access-policies.ts";
import { plainly } from "../shared/attempt.ts";
import { clusterName, INBOUND_PASSTHROUGH_CLUSTER } from "../shared/cluster-name.ts";
import { type InboundReporting, inboundReporting } from "../telemetry/reporting.ts";
import { afterTls, meshTlsSocket, ownTlsSocket } from "../tls/server-tls.ts";
import { selectPlugins } from "../wasm/wasm-plugins.ts";
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
import { acceptsTunnels, TUNNEL_PORT, throughTunnel, tunnelListeners } from "./tunnel.ts";

/**
 * The listener for redirected connections first, then those that are really bound. Of the node only interception, address families,
 * certificate files and, for ingress listeners that are bound without an address, its first address are used. A port that cannot be
 * served costs the others nothing: it is treated as one of no service.
 */
export function generateInboundListeners(
  view: ProxyView,
  policies: InboundPolicies = NO_POLICIES,
  attempt = plainly,
): GeneratedListeners {
  // Routers listen where Gateways say.
  if (view.node.type === "router") return { listeners: [], conflicts: [] };
  const { mesh } = view.snapshot;
  const reporting = inboundReporting(view);
  const settings: InboundSettings = {
    ...httpManagerSettings(mesh, view.node, [], reporting.tracing),
    reporting,
    policies,
    plugins: selectPlugins(view.snapshot.configs, mesh.rootNamespace, view.node),
    tlsSocket: meshTlsSocket(mesh, view.node.serverTls),
  };
  const { ports, conflicts } = servedPorts(view);
  const chainsOf = (port: ServedPort) => portChains(view, settings, port);
  const bound = ports.flatMap((port) => {
    const { bind, owner, of } = port;
    if (bind === undefined) return [];
    return attempt(owner, () => buildBoundListener(view, bind, port, chainsOf(port), reporting), of) ?? [];
  });
  if (view.node.interception === "NONE") return { listeners: bound, conflicts };
  const redirected = ports.flatMap((port) => {
    if (port.bind !== undefined) return [];
    const chains = attempt(port.owner, () => chainsOf(port), port.of);
    return chains === undefined ? [] : { port, chains };
  });
  const served = redirected.map(({ port }) => port);
  const chains = [
    blackHoleChain(`${VIRTUAL_INBOUND}-blackhole`, mesh.proxyInboundListenPort),
    ...passthroughChains(view, settings, new Set(served.map(({ targetPort }) => targetPort))),
    ...redirected.flatMap((one) => one.chains),
  ];
  const tunnels = acceptsTunnels(view.node) ? tunnelListeners(view, tunnelledChains(view, settings, served)) : [];
  return { listeners: [buildVirtualInbound(view, chains, reporting), ...bound, ...tunnels], conflicts };
}

/** What comes through a tunnel has proved who it is, so that it is taken in plain text whatever the mode. */
function tunnelledChains(
  view: ProxyView,
  settings: InboundSettings,
  ports: readonly ServedPort[],
): readonly FilterChain[] {
  const { mesh } = view.snapshot;
  const inside = { ...view, inbound: { ...view.inbound, mtls: "DISABLE" as const, portMtls: new Map() } };
  const policed = { ...settings, policies: throughTunnel(settings.policies) };
  const own = [mesh.proxyListenPort, mesh.proxyInboundListenPort, TUNNEL_PORT];
  return [
    ...own.map((port) => blackHoleChain(`${VIRTUAL_INBOUND}-blackhole-${port}`, port)),
    ...passthroughChains(inside, policed, new Set(ports.map(({ targetPort }) => targetPort))),
    ...ports.flatMap((port) => portChains(inside, policed, port)),
  ];
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
  // Where several services share the port, the oldest is the one that is called.
  const served = view.inbound.targets.find((target) => target.targetPort === targetPort)?.service;
  return buildInboundChains(
    settings,
    {
      cluster: clusterName("inbound", targetPort),
      ...(served && { service: { host: served.hostname, name: served.name, namespace: served.namespace } }),
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
  reporting: InboundReporting,
): Listener {
  const matches = filterChains.map(({ filterChainMatch = {} }) => filterChainMatch);
  return {
    ...listenerAddress([bind], targetPort),
    trafficDirection: "INBOUND",
    ...exactBalance(view.node.listening.inboundBalance),
    ...detectionTimeout(view.snapshot.mesh, inspectorsByPort(matches)),
    filterChains,
    maxConnectionsToAcceptPerSocketEvent: 1,
    ...(reporting.listener.length > 0 && { accessLog: reporting.listener }),
  };
}

export const VIRTUAL_INBOUND = "virtualInbound";

/** Takes every connection that the machine redirects to the proxy, and finds by its original destination what it is for. */
function buildVirtualInbound(view: ProxyView, chains: readonly FilterChain[], reporting: InboundReporting): Listener {
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
    ...(reporting.listener.length > 0 && { accessLog: reporting.listener }),
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
