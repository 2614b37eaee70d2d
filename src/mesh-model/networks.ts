import { compareText } from "../istio-api/config-object.ts";
import { groupBy } from "./lists.ts";

/** Where connections from other networks enter one: mutual TLS, which the gateway passes on by its server name. */
export interface NetworkGateway {
  readonly network: string;
  /** Of the endpoints that it is for; empty: of all clusters of the network. */
  readonly clusterId: string;
  readonly address: string;
  readonly port: number;
}

/** The gateways of all networks. Without any, every endpoint is taken as reachable from everywhere. */
export interface Networks {
  /** Sorted, each once. */
  readonly gateways: readonly NetworkGateway[];
  /** Weights are multiplied by it, so that those of endpoints can be shared out among the gateways of any network in whole numbers. */
  readonly weightScale: number;
  /** Those that lead to endpoints of the cluster in the network, else those of the network. */
  leadingTo(network: string, clusterId: string): readonly NetworkGateway[];
}

const NONE: readonly NetworkGateway[] = Object.freeze([]);

export const NO_NETWORKS: Networks = Object.freeze({ gateways: NONE, weightScale: 1, leadingTo: () => NONE });

/** The previous value where nothing differs from it. Gateways of no network are left out. */
export function buildNetworks(given: readonly NetworkGateway[], previous: Networks = NO_NETWORKS): Networks {
  const byKey = new Map(given.filter(({ network }) => network !== "").map((gateway) => [keyOf(gateway), gateway]));
  const gateways = [...byKey.values()].sort((a, b) => compareText(keyOf(a), keyOf(b)));
  if (gateways.map(keyOf).join() === previous.gateways.map(keyOf).join()) return previous;
  if (gateways.length === 0) return NO_NETWORKS;
  const ofNetwork = groupBy(gateways, ({ network }) => network);
  const ofCluster = groupBy(gateways, ({ network, clusterId }) => `${network}\0${clusterId}`);
  const counts = [...ofNetwork.values(), ...ofCluster.values()].map(({ length }) => length);
  return Object.freeze({
    gateways,
    weightScale: counts.reduce(leastCommonMultiple, 1),
    leadingTo: (network: string, clusterId: string) =>
      ofCluster.get(`${network}\0${clusterId}`) ?? ofNetwork.get(network) ?? NONE,
  });
}

/** A network that is not named is every network: without a name nothing says that it is another. */
export function isSameNetwork(a: string, b: string): boolean {
  return a === b || a === "" || b === "";
}

function keyOf({ network, clusterId, address, port }: NetworkGateway): string {
  return [network, clusterId, address, port].join("\0");
}

function leastCommonMultiple(a: number, b: number): number {
  return (a / greatestCommonDivisor(a, b)) * b;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
