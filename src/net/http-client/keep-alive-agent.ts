import { Agent } from "node:http";

/** Connections to servers that stay open between requests. The owner destroys it. */
export type HttpAgent = Agent;

/** For plain HTTP. */
export function createKeepAliveAgent(idleMs: number): HttpAgent {
  return new Agent({ keepAlive: true, timeout: idleMs });
}
