export { AgentStartError } from "./agent-error.ts";
export { declareAgentMetrics, listAgentMetrics } from "./metrics.ts";
export type { Agent, StartAgentOptions } from "./options.ts";
export { startAgent } from "./start-agent.ts";
