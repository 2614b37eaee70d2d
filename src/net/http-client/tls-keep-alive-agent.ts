import { Agent } from "node:https";
import type { HttpAgent } from "./keep-alive-agent.ts";

/** As `createKeepAliveAgent`, for HTTPS; the material of the handshake comes with each request. Apart, because it loads node:tls. */
export function createTlsKeepAliveAgent(idleMs: number): HttpAgent {
  return new Agent({ keepAlive: true, timeout: idleMs });
}
