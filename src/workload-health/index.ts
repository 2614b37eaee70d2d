export { type HealthRules, healthRules } from "./core/generations.ts";
export { type HealthCheckConfig, HealthConfigError, type ProbeMethod, readHealthConfig } from "./core/health-config.ts";
export type { HealthEvent, ProbeResult } from "./core/health-state.ts";
export type { HttpSource } from "./probes/probe-http.ts";
export { type HealthCheckerOptions, startHealthChecker } from "./start-health-checker.ts";
