export { HEALTH_RULES, type HealthRules } from "./core/generations.ts";
export { type HealthCheckConfig, readHealthConfig } from "./core/health-config.ts";
export { startHealthChecker } from "./start-health-checker.ts";
