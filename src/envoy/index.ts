export {
  type AdminAddress,
  type AdminAnswer,
  type AdminClient,
  type AdminLimits,
  createAdminClient,
  type DrainOptions,
  type ServerInfo,
} from "./admin-client.ts";
export { ENVOY_RELEASE, EnvoyBinaryError, findEnvoy } from "./binary/index.ts";
export { type CertificateWatcherOptions, hashFiles, watchCertificates } from "./certificate-watcher.ts";
export { buildEnvoyArgs, type EnvoyArgs, impliesHotRestart } from "./core/command-line.ts";
export { readinessRules } from "./core/generations.ts";
export { loopbackOf } from "./core/ip-family.ts";
export { type EnvoyLogLevels, splitProxyLogLevel } from "./core/log-level.ts";
export { DEFAULT_RESTART_BUDGET, type RestartBudget } from "./core/restart-budget.ts";
export type { TerminationOptions } from "./drain.ts";
export type { EnvoyConfigFile, EnvoyHandle, EnvoyOptions, EnvoyPhase } from "./envoy-options.ts";
export { AdminError, ENVOY_EXIT_CODES, EnvoyError } from "./errors.ts";
export { createFlagProbe, type FlagProbe } from "./flag-probe.ts";
export { declareEnvoyMetrics, type EnvoyMetrics } from "./metrics.ts";
export { validateConfig } from "./preflight.ts";
export { type EnvoyReadinessOptions, type EnvoyReadinessProbe, envoyReadinessProbe } from "./readiness-probe.ts";
export { startEnvoy } from "./start-envoy.ts";
