import type { NodeListening } from "../../proxy/read-listening.ts";
import type { MeshSettings } from "../../snapshot/mesh-settings.ts";

/** Ports on which the proxy itself listens, at all addresses. */
export function isReservedPort(mesh: MeshSettings, { staticPorts }: NodeListening, port: number): boolean {
  return port === mesh.proxyListenPort || port === mesh.proxyInboundListenPort || staticPorts.includes(port);
}
