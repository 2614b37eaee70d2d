import { isIPv6, isUnspecified } from "../../net/ip.ts";
import type { Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { Connection } from "./connection.ts";

/**
 * Where a connection of the workload arrives: a listener that takes captured connections hands them to the one of the original address,
 * else to the one of the port, else keeps them. Undefined: nothing is captured.
 */
export function outboundListener(listeners: readonly Listener[], connection: Connection): Listener | undefined {
  const capturing = listeners.find(
    ({ useOriginalDst, trafficDirection }) => useOriginalDst === true && trafficDirection === "OUTBOUND",
  );
  const others = listeners.filter((listener) => listener.trafficDirection === "OUTBOUND" && listener !== capturing);
  return findByAddress(others, connection) ?? capturing;
}

/** Where a connection to the workload arrives: all of them at the capturing listener, else at the one that is bound to the address. */
export function inboundListener(listeners: readonly Listener[], connection: Connection): Listener | undefined {
  const inbound = listeners.filter(({ trafficDirection }) => trafficDirection === "INBOUND");
  const capturing = inbound.find(({ listenerFilters = [] }) =>
    listenerFilters.some(({ name }) => name?.endsWith("original_dst") === true),
  );
  return capturing ?? findByAddress(inbound, connection);
}

/** Where a connection from outside arrives at a gateway. */
export function gatewayListener(listeners: readonly Listener[], { destination }: Connection): Listener | undefined {
  return listeners.find((listener) => addressesOf(listener).some(({ port }) => port === destination.port));
}

function findByAddress(listeners: readonly Listener[], { destination }: Connection): Listener | undefined {
  const { address, port } = destination;
  const onPort = listeners.filter((listener) => addressesOf(listener).some((one) => one.port === port));
  const exact = onPort.find((listener) => addressesOf(listener).some((one) => one.address === address));
  if (exact !== undefined) return exact;
  const wants6 = address !== undefined && isIPv6(address);
  return onPort.find((listener) =>
    // The IPv6 wildcard takes IPv4 as well.
    addressesOf(listener).some((one) => isUnspecified(one.address) && (!wants6 || isIPv6(one.address))),
  );
}

interface ListenerAddress {
  readonly address: string;
  readonly port: number;
}

export function addressesOf({ address, additionalAddresses = [] }: Listener): readonly ListenerAddress[] {
  return [address, ...additionalAddresses.map((additional) => additional.address)].flatMap((one) => {
    const socket = one?.socketAddress;
    return socket === undefined ? [] : [{ address: socket.address ?? "", port: socket.portValue ?? 0 }];
  });
}
