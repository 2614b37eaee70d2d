import type { MeshNetwork } from "../../../istio-api/mesh-config/mesh-networks.ts";
import { TOPOLOGY } from "../../../istio-api/values/topology-labels.ts";
import type { NetworkGateway } from "../../../mesh-model/networks.ts";
import { selects } from "../../../mesh-model/selector.ts";
import type { ReducedNode } from "./reduce-object.ts";
import type { ReducedService } from "./reduce-service.ts";

/** The port that connections from other networks use where nothing says another. */
const GATEWAY_PORT = 15443;
const PORT_LABEL = "networking.istio.io/gatewayPort";

export interface GatewaySurroundings {
  readonly hostname: string;
  readonly clusterId: string;
  readonly networks: readonly MeshNetwork[];
  /** Of the cluster; asked only for services whose external addresses are nodes. */
  readonly nodes: () => Iterable<ReducedNode>;
}

/**
 * A Service whose label names a network is a gateway of that network at each of its external addresses; without the label, one whose host
 * the mesh networks file names. Where its addresses are nodes, they listen on the node's port for it.
 */
export function gatewaysOfService(
  service: Pick<ReducedService, "labels" | "externalAddresses" | "nodePorts">,
  { hostname, clusterId, networks, nodes }: GatewaySurroundings,
): readonly NetworkGateway[] {
  const { labels, nodePorts } = service;
  const network = labels[TOPOLOGY.network] ?? "";
  const places =
    network === ""
      ? networks.flatMap(({ name, gateways }) =>
          gateways.filter(({ service }) => service === hostname).map(({ port }) => ({ network: name, port })),
        )
      : [{ network, port: labelledPort(labels[PORT_LABEL]) }];
  if (places.length === 0) return [];
  const addresses = externalAddresses(service, nodes);
  return places.flatMap(({ network: name, port }) =>
    addresses.map((address) => ({ network: name, port: nodePorts?.ports.get(port) ?? port, clusterId, address })),
  );
}

function externalAddresses(
  { externalAddresses: own, nodePorts }: Pick<ReducedService, "externalAddresses" | "nodePorts">,
  nodes: () => Iterable<ReducedNode>,
): readonly string[] {
  if (own.length > 0 || nodePorts === undefined) return own;
  return [...nodes()]
    .filter(({ labels, externalAddress }) => externalAddress !== "" && selects(nodePorts.selector, labels))
    .map(({ externalAddress }) => externalAddress);
}

function labelledPort(text = ""): number {
  const port = Number(text);
  return text !== "" && Number.isInteger(port) && port > 0 && port <= 65535 ? port : GATEWAY_PORT;
}
