import type { HealthCheckConfig, readHealthConfig as readConfig } from "./core/health-config.ts";
import type { HealthCheckerOptions } from "./start-health-checker.ts";

export { HEALTH_RULES, type HealthRules } from "./core/generations.ts";
export type { HealthCheckConfig } from "./core/health-config.ts";

// Loaded when they are used: few workloads have such a check.

export async function readHealthConfig(...input: Parameters<typeof readConfig>): Promise<HealthCheckConfig> {
  return (await import("./core/health-config.ts")).readHealthConfig(...input);
}

export async function startHealthChecker(options: HealthCheckerOptions) {
  return (await import("./start-health-checker.ts")).startHealthChecker(options);
}
