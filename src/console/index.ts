import type { Console, ConsoleOptions } from "./options.ts";
import type { Sampler, SamplerOptions } from "./sampler.ts";

export { createActionFile, createMemoryBook } from "./action-file.ts";
export { createAgentPages } from "./agent-pages.ts";
export { openAgentSocket, startAgentSocket } from "./agent-socket.ts";
export type { GraphEdge, GraphSnapshot } from "./api.ts";
export type { ResourceOrigins } from "./core/config-origins.ts";
export type { ServiceInfo } from "./core/graph-nodes.ts";
export { STATS_PATTERNS } from "./core/parse-stats.ts";
export { writeConsoleLink } from "./link-file.ts";
export { CONSOLE_PORT, type Console } from "./options.ts";
export { consolePageFolder } from "./page-files.ts";
export { createScrapeAccess } from "./scrape-access.ts";
export type {
  AgentAccess,
  ConsoleSources,
  LogSource,
  ObjectFinding,
  ObjectSource,
  SourceWorkload,
  StoredObject,
  StoredObjects,
} from "./sources.ts";

/** Loaded when it is started: agents of a mesh enter this door for their sockets alone. */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  return (await import("./start-console.ts")).startConsole(options);
}

/** The figures of a console's graph without a console. */
export async function createSampler(options: SamplerOptions): Promise<Sampler> {
  return (await import("./sampler.ts")).createSampler(options);
}
