import type { MeshSettings } from "../../snapshot/mesh-settings.ts";

/** Readiness and statistics: static listeners of the proxy's bootstrap. */
const STATIC_LISTENER_PORTS: ReadonlySet<number> = new Set([15021, 15090]);

/** Ports on which the proxy itself listens, at all addresses. */
export function isReservedPort(mesh: MeshSettings, port: number): boolean {
  return port === mesh.proxyListenPort || port === mesh.proxyInboundListenPort || STATIC_LISTENER_PORTS.has(port);
}
