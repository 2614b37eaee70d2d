import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { NodeListening } from "../../mesh-model/proxy/read-listening.ts";

/** Ports on which the proxy itself listens, at all addresses. */
export function isReservedPort(mesh: MeshSettings, { staticPorts }: NodeListening, port: number): boolean {
  return port === mesh.proxyListenPort || port === mesh.proxyInboundListenPort || staticPorts.includes(port);
}
