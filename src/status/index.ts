import type { AgentStatus, StatusOptions } from "./start-status.ts";

export { readAppProbers } from "./core/app-probers.ts";
export { STATUS_RULES, type StatusRules } from "./core/generations.ts";
export { readScrapeTargets } from "./core/scrape-targets.ts";
export { declareScrapeMetrics } from "./metrics.ts";
export { OTLP_PROTOCOLS, type OtlpProtocol, type OtlpSettings } from "./otlp/exporter.ts";
export { envoyLivenessCheck, grpcBootstrapCheck } from "./readiness-checks.ts";
export type { StatusSettings } from "./start-status.ts";

/** Loaded when it is started: settings enter this door before Envoy is spawned. */
export async function startStatus(options: StatusOptions): Promise<AgentStatus | undefined> {
  return (await import("./start-status.ts")).startStatus(options);
}
