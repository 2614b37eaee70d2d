import type { HealthCheckerOptions } from "./start-health-checker.ts";

export { HEALTH_RULES, type HealthRules } from "./core/generations.ts";
export { type HealthCheckConfig, readHealthConfig } from "./core/health-config.ts";

/** Loaded when it is started: few workloads have such a check. */
export async function startHealthChecker(options: HealthCheckerOptions) {
  return (await import("./start-health-checker.ts")).startHealthChecker(options);
}
