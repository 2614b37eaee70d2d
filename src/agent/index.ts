export { AgentStartError } from "./agent-error.ts";
export { listAgentMetrics } from "./metrics.ts";
export type { Agent, StartAgentOptions } from "./options.ts";
export { startAgent } from "./start-agent.ts";
