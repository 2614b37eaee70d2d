import type { HeaderValueOption } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { listenerAddress } from "../listeners/addresses.ts";
import type { RouterServer } from "./gateway-servers.ts";

/** How long clients may believe an offer; they fall back to TCP when there is no answer. */
const OFFER_SECONDS = 86_400;

export const QUIC_CODEC = { codecType: "HTTP3", http3ProtocolOptions: {} } as const;

export const QUIC_LISTENER: Listener = {
  trafficDirection: "OUTBOUND",
  udpListenerConfig: { quicOptions: {}, downstreamSocketConfig: {} },
};

/** Envoy does not ask clients for certificates over QUIC, which has no TLS before 1.3. */
export function isQuicServer({ kind, tls }: RouterServer): boolean {
  if (kind !== "https" || tls?.mode !== "SIMPLE") return false;
  return tls.maxProtocolVersion === "TLS_AUTO" || tls.maxProtocolVersion === "TLSV1_3";
}

/** The address of a listener, over UDP; its name says so, as TCP may have the same. */
export function quicAddress(binds: readonly string[], port: number): ReturnType<typeof listenerAddress> {
  const { name = "", address, additionalAddresses } = listenerAddress(binds, port);
  return {
    name: `udp_${name}`,
    address: overUdp(address),
    ...(additionalAddresses && {
      additionalAddresses: additionalAddresses.map((other) => ({ ...other, address: overUdp(other.address) })),
    }),
  };
}

function overUdp(address: Listener["address"]): Listener["address"] {
  return { socketAddress: { ...address?.socketAddress, protocol: "UDP" } };
}

/** The header by which clients learn that they may come back over HTTP/3. */
export function quicOffer(port: number): HeaderValueOption {
  return { header: { key: "alt-svc", value: `h3=":${port}"; ma=${OFFER_SECONDS}` } };
}
