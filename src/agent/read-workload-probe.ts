import type { AgentConfig } from "../settings/read-agent-config.ts";
import type { HealthCheckConfig } from "../workload-health/index.ts";
import { step } from "./agent-error.ts";

export const HEALTH_STEP = "failed to start workload health check";

/** What the proxy configuration asks for, undefined without a probe. A wrong one ends the start before anything is running. */
export async function readWorkloadProbe(config: AgentConfig): Promise<HealthCheckConfig | undefined> {
  const { proxyConfig, status, role, generation } = config;
  const { readinessProbe } = proxyConfig;
  if (readinessProbe === undefined) return undefined;
  const { readHealthConfig } = await import("../workload-health/index.ts");
  const [firstIp] = role.ipAddresses;
  const defaultHost = firstIp === undefined || status.legacyLocalhostProbes ? "localhost" : firstIp;
  return step(HEALTH_STEP, async () => readHealthConfig(readinessProbe, defaultHost, generation.health));
}
