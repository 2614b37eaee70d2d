import type { ProxyView } from "../../../mesh-model/push-snapshot.ts";
import type { FilterChain, Listener } from "../../../protobuf/gen/envoy/config/listener/v3.ts";
import type { AccessLogs } from "../../access-log/build-access-logs.ts";
import { clusterName } from "../../cluster-name.ts";
import { inboundLogs } from "../../telemetry/index.ts";
import { buildPlace, listenerName, wildcardBinds } from "../addresses.ts";
import { detectionTimeout } from "../detection-timeout.ts";
import { exactBalance } from "../exact-balance.ts";
import { httpManagerSettings } from "../http-manager.ts";
import type { GeneratedListeners } from "../listener-conflict.ts";
import { inspectorsByPort } from "../listener-filters.ts";
import { CHAIN_TABLE, OWN_TLS_CHAINS, trafficOf } from "./chain-table.ts";
import { meshTlsSocket } from "./downstream-tls.ts";
import { buildInboundChains, type InboundSettings } from "./inbound-chains.ts";
import { type InboundPolicies, NO_POLICIES } from "./inbound-policies.ts";
import { afterTls, ownTlsSocket } from "./own-tls.ts";
import { type ServedPort, servedPorts } from "./served-ports.ts";
import { blackHoleChain, buildVirtualInbound, passthroughChains, VIRTUAL_INBOUND } from "./virtual-inbound.ts";

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
  const place = listenerName(port.bind ?? anyAddress, targetPort);
  const mode = view.inbound.portMtls.get(targetPort) ?? view.inbound.mtls;
  // Two certificates on one port could not be told apart, so that the mesh's goes first.
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
      statPrefix: `inbound_${place};`,
      chainName: () => place,
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
    ...buildPlace([bind], targetPort),
    trafficDirection: "INBOUND",
    ...exactBalance(view.node.listening.inboundBalance),
    ...detectionTimeout(view.snapshot.mesh, inspectorsByPort(matches)),
    filterChains,
    maxConnectionsToAcceptPerSocketEvent: 1,
    ...(accessLogs.listener.length > 0 && { accessLog: accessLogs.listener }),
  };
}
