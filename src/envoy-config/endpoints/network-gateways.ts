import { TOPOLOGY } from "../../istio-api/values/topology-labels.ts";
import type { Endpoint } from "../../mesh-model/endpoint.ts";
import { isSameNetwork, type NetworkGateway, type Networks } from "../../mesh-model/networks.ts";
import { endpointWeight, group, type LocalityGroup } from "./lb-endpoint.ts";

export interface NetworkClient {
  readonly network: string;
  readonly networks: Networks;
  readonly isMtls: (endpoint: Endpoint) => boolean;
}

export interface ReachableGroups {
  readonly groups: readonly LocalityGroup[];
  /** Those among the endpoints that are gateways. */
  readonly gateways: ReadonlySet<Endpoint>;
}

/**
 * Endpoints of another network are replaced by the gateways of that network, which weigh as much as they did together. What has no mutual
 * TLS cannot be called through one, as a gateway knows by the server name alone where a connection belongs. A network without a gateway is
 * taken as reachable.
 */
export function throughGateways(
  groups: readonly LocalityGroup[],
  { network, networks, isMtls }: NetworkClient,
): ReachableGroups {
  const gateways = new Set<Endpoint>();
  if (networks.gateways.length === 0) return { groups, gateways };
  const reachable = groups.map(({ locality, endpoints, priority }) => {
    const near: Endpoint[] = [];
    const weights = new Map<NetworkGateway, number>();
    for (const endpoint of endpoints) {
      const weight = endpointWeight(endpoint) * networks.weightScale;
      const leading = isSameNetwork(endpoint.network, network)
        ? []
        : networks.leadingTo(endpoint.network, endpoint.clusterId);
      if (leading.length === 0) near.push({ ...endpoint, weight });
      else if (isMtls(endpoint)) {
        // Sharing out leaves no rest: the scale is a multiple of every number of gateways.
        for (const gateway of leading) weights.set(gateway, (weights.get(gateway) ?? 0) + weight / leading.length);
      }
    }
    const far = networks.gateways.flatMap((gateway) => {
      const weight = weights.get(gateway);
      return weight === undefined ? [] : [gatewayEndpoint(gateway, weight, locality)];
    });
    for (const endpoint of far) gateways.add(endpoint);
    return group(locality, [...near, ...far], priority);
  });
  return { groups: reachable.filter(({ endpoints }) => endpoints.length > 0), gateways };
}

/** In the locality of what is behind it, so that preferences for places hold. */
function gatewayEndpoint(
  { network, clusterId, address, port }: NetworkGateway,
  weight: number,
  locality: Endpoint["locality"],
): Endpoint {
  return {
    addresses: [address],
    servicePortName: "",
    port,
    labels: { [TOPOLOGY.network]: network, ...(clusterId !== "" && { [TOPOLOGY.cluster]: clusterId }) },
    serviceAccount: "",
    network,
    locality,
    clusterId,
    weight,
    tlsMode: "istio",
    namespace: "",
    workloadName: "",
    health: "Unknown",
  };
}
