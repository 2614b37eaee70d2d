import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { NodeListening } from "../../mesh-model/proxy/read-listening.ts";
import type { Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";

/** Something that was asked for and cannot be there together with what else was asked for. */
export interface ListenerConflict {
  readonly kind: ConflictKind;
  /** Name of the listener, or of the chain. */
  readonly listener: string;
  /** Host or object that is served; empty where the address itself is taken. */
  readonly winner: string;
  readonly dropped: string;
}

export type ConflictKind =
  /** Two services whose connections have the same match. */
  | "outbound-tcp"
  /** The server speaks first in one of the protocols, so that looking at the client's first bytes would hang. */
  | "server-first"
  /** A port that the proxy itself listens on, or may not bind. */
  | "reserved-port"
  | "privileged-port"
  /** Two listeners of one address. */
  | "address"
  /** Two services of one workload behind one target port. */
  | "inbound-port";

export interface GeneratedListeners {
  readonly listeners: readonly Listener[];
  readonly conflicts: readonly ListenerConflict[];
}

/** Ports on which the proxy itself listens, at all addresses. */
export function isReservedPort(mesh: MeshSettings, { staticPorts }: NodeListening, port: number): boolean {
  return port === mesh.proxyListenPort || port === mesh.proxyInboundListenPort || staticPorts.includes(port);
}
