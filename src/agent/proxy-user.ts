import type { AgentConfig } from "../settings/read-agent-config.ts";

/** Who Envoy runs as when the agent keeps port 53 for itself as root. */
const PROXY_USER = { uid: 1337, gid: 1337 };

export function proxyUser(config: AgentConfig): typeof PROXY_USER | undefined {
  return config.envoy.runsAsProxyUser ? PROXY_USER : undefined;
}
