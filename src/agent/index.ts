import type { MetricDescription } from "../base/metric-registry.ts";

export { AgentStartError } from "./agent-error.ts";
export type { Agent, StartAgentOptions } from "./options.ts";
export { startAgent } from "./start-agent.ts";

/** Names, kinds and texts of all metrics, for generated documents; loaded for those alone. */
export async function listAgentMetrics(): Promise<readonly MetricDescription[]> {
  return (await import("./metrics.ts")).listAgentMetrics();
}
