import type { StatusOptions } from "./start-status.ts";
import type { StatusServer } from "./start-status-server.ts";

export { readAppProbers } from "./core/app-probers.ts";
export { STATUS_RULES, type StatusRules } from "./core/generations.ts";
export { readScrapeTargets } from "./core/scrape-targets.ts";
export { addDebugRoutes } from "./debug-routes.ts";
export { declareScrapeMetrics } from "./metrics.ts";
export { renderProcessMetrics, startEventLoopLag } from "./process-metrics.ts";
export { createReadiness, type Readiness, type ReadinessReason } from "./readiness.ts";
export { envoyLivenessCheck, grpcBootstrapCheck } from "./readiness-checks.ts";
export type { StatusSettings } from "./start-status.ts";

/** Loaded when it is started: settings enter this door before Envoy is spawned. */
export async function startStatus(options: StatusOptions): Promise<StatusServer | undefined> {
  return (await import("./start-status.ts")).startStatus(options);
}
