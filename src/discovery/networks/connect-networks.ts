import type { CloseStack } from "../../base/close-stack.ts";
import type { Logger } from "../../base/logger.ts";
import { buildNetworks, type NetworkGateway, type Networks, NO_NETWORKS } from "../../mesh-model/networks.ts";
import { isIP } from "../../net/ip.ts";
import type { AggregateRegistry } from "../registries/create-aggregate-registry.ts";
import { type GatewayNamesOptions, startGatewayNames } from "./start-gateway-names.ts";
import type { MeshNetworksFile } from "./start-mesh-networks.ts";

export interface NetworkParts extends Pick<GatewayNamesOptions, "resolve" | "refreshMs"> {
  readonly file: Pick<MeshNetworksFile, "value" | "subscribe">;
  readonly registry: Pick<AggregateRegistry, "gateways" | "subscribe">;
  readonly log: Logger;
  readonly opened: CloseStack;
}

export interface ConnectedNetworks {
  /** The same value while nothing changes. */
  readonly current: Networks;
  /** Gateways whose names have no address yet. */
  unresolved(): readonly NetworkGateway[];
  /** Calls after each change. */
  subscribe(listener: () => void): void;
}

/** The gateways of all networks: those of the mesh networks file, and those of Services. */
export function connectNetworks({ file, registry, log, opened, ...naming }: NetworkParts): ConnectedNetworks {
  const listeners = new Set<() => void>();
  let current = NO_NETWORKS;
  const given = () => [...file.value.flatMap(gatewaysOfFile), ...registry.gateways()];
  const addressesOf = ({ address }: NetworkGateway) => (isIP(address) === 0 ? names.addresses(address) : [address]);
  const refresh = () => {
    const gateways = given();
    names.want(gateways.flatMap(({ address }) => (isIP(address) === 0 ? [address] : [])));
    const next = buildNetworks(
      gateways.flatMap((gateway) => addressesOf(gateway).map((address) => ({ ...gateway, address }))),
      current,
    );
    if (next === current) return;
    current = next;
    log.info("gateways of networks changed", {
      gateways: next.gateways.map(({ network, address, port }) => `${network}=${address}:${port}`).join(","),
    });
    for (const listener of listeners) listener();
  };
  const names = opened.add(startGatewayNames({ ...naming, onChange: () => refresh(), log }));
  file.subscribe(refresh);
  opened.defer(
    registry.subscribe(({ gateways }) => {
      if (gateways === true) refresh();
    }),
  );
  refresh();
  return {
    get current() {
      return current;
    },
    unresolved: () => given().filter((gateway) => addressesOf(gateway).length === 0),
    subscribe: (listener) => void listeners.add(listener),
  };
}

/** Those with an address of their own; services are looked up where they are. */
function gatewaysOfFile({ name, gateways }: MeshNetworksFile["value"][number]): readonly NetworkGateway[] {
  return gateways.flatMap(({ address, port }) =>
    address === "" ? [] : [{ network: name, clusterId: "", address, port }],
  );
}
