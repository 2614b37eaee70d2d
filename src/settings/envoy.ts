import type { Logger } from "../base/logger.ts";
import type { ProxyOwner } from "../files/proxy-file.ts";
import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import { parseProtoDuration } from "../protobuf/proto-duration.ts";
import type { EnvReader } from "./env-reader.ts";
import type { GenerationRules } from "./generations.ts";
import type { ProxyFlags } from "./proxy-flags.ts";
import type { ProxyRole } from "./role/read-role.ts";

export interface EnvoyConfig {
  readonly disabled: boolean;
  readonly binaryPath: string;
  readonly configPath: string;
  readonly adminPort: number;
  /** Argument `-l`; empty leaves it out. */
  readonly logLevel: string;
  readonly componentLogLevel: string;
  readonly logAsJson: boolean;
  readonly ipAddresses: readonly string[];
  readonly isSidecar: boolean;
  readonly outlierLogPath: string;
  /** undefined: Envoy's own interval. */
  readonly fileFlushIntervalMs: number | undefined;
  readonly fileFlushMinSizeKb: number;
  /** 0 leaves the argument out: one thread per host core. */
  readonly concurrency: number;
  readonly drainSeconds: number;
  /** From the end of a hot restart to the end of the previous process; undefined: follows from the drain. */
  readonly parentShutdownSeconds: number | undefined;
  readonly terminationDrainMs: number;
  readonly minimumDrainMs: number;
  readonly exitOnZeroActiveConnections: boolean;
  readonly maximumDrainMs: number;
  readonly restartOnCrash: boolean;
  /** Names of variables, a trailing `*` for any rest, that Envoy gets besides those it always gets. */
  readonly passEnvironment: readonly string[];
  readonly hotRestart: boolean;
  readonly skipDeprecatedLogs: boolean;
  readonly enableCoreDump: boolean;
  readonly dualStack: boolean;
  /** Who Envoy runs as when the agent as root keeps port 53 for itself. */
  readonly user: ProxyOwner | undefined;
  readonly statusPort: number;
  readonly statusPortProxyProtocol: boolean;
  readonly prometheusPort: number;
  readonly secureMetricsPort: number;
  readonly secureMergedMetricsPort: number;
  readonly bootstrapTemplate: string;
  readonly bootstrapOverride: string;
  /** Unset and empty differ: unset leaves the placeholder in the bootstrap. */
  readonly hostIp: string | undefined;
  readonly stripFragmentFromPath: boolean;
}

const PROXY_USER: ProxyOwner = { uid: 1337, gid: 1337 };

export interface EnvoyConfigSources {
  readonly env: EnvReader;
  readonly flags: ProxyFlags;
  readonly role: ProxyRole;
  readonly proxyConfig: ProxyConfig;
  readonly rules: GenerationRules;
  readonly uid: number;
  readonly log: Logger;
}

/** Options of the Envoy process; ports and paths come from the effective ProxyConfig. */
export function readEnvoyConfig({ env, flags, role, proxyConfig, rules, uid, log }: EnvoyConfigSources): EnvoyConfig {
  const levels = splitProxyLogLevel(flags.proxyLogLevel, flags.proxyComponentLogLevel, rules, log);
  const drainSeconds = toMs(proxyConfig.drainDuration ?? "0s") / 1000;
  const flush = proxyConfig.fileFlushInterval;
  return Object.freeze({
    disabled: env.bool("DISABLE_ENVOY"),
    binaryPath: proxyConfig.binaryPath ?? "",
    configPath: proxyConfig.configPath ?? "",
    adminPort: proxyConfig.proxyAdminPort ?? 0,
    logLevel: levels.level,
    componentLogLevel: levels.components,
    logAsJson: flags.logAsJson,
    ipAddresses: role.ipAddresses,
    isSidecar: role.type === "sidecar",
    outlierLogPath: flags.outlierLogPath,
    fileFlushIntervalMs: flush === undefined ? undefined : toMs(flush),
    fileFlushMinSizeKb: proxyConfig.fileFlushMinSizeKb ?? 0,
    concurrency: Math.max(0, proxyConfig.concurrency ?? 0),
    drainSeconds,
    parentShutdownSeconds: parentShutdownSeconds(env, proxyConfig, drainSeconds, log),
    terminationDrainMs: toMs(proxyConfig.terminationDrainDuration ?? "0s"),
    minimumDrainMs: env.durationMs("MINIMUM_DRAIN_DURATION"),
    exitOnZeroActiveConnections: env.bool("EXIT_ON_ZERO_ACTIVE_CONNECTIONS"),
    maximumDrainMs: env.durationMs("MAXIMUM_DRAIN_DURATION"),
    restartOnCrash: env.bool("ENVOY_RESTART_ON_CRASH"),
    passEnvironment: Object.freeze(
      env
        .string("ENVOY_PASS_ENVIRONMENT")
        .split(/[\s,]+/)
        .filter((name) => name !== ""),
    ),
    hotRestart: env.bool("ENVOY_HOT_RESTART"),
    skipDeprecatedLogs: env.applies("ENVOY_SKIP_DEPRECATED_LOGS") && env.bool("ENVOY_SKIP_DEPRECATED_LOGS"),
    enableCoreDump: env.bool("ISTIO_ENVOY_ENABLE_CORE_DUMP"),
    dualStack: env.bool("ISTIO_DUAL_STACK"),
    user: uid === 0 && env.string("DNS_PROXY_ADDR").endsWith(":53") ? PROXY_USER : undefined,
    statusPort: env.int("ENVOY_STATUS_PORT"),
    statusPortProxyProtocol: env.bool("ENVOY_STATUS_PORT_ENABLE_PROXY_PROTOCOL"),
    prometheusPort: env.int("ENVOY_PROMETHEUS_PORT"),
    secureMetricsPort: env.int("ENVOY_SECURE_METRICS_PORT"),
    secureMergedMetricsPort: env.int("ENVOY_SECURE_MERGED_METRICS_PORT"),
    bootstrapTemplate: env.string("ISTIO_BOOTSTRAP"),
    bootstrapOverride: env.string("ISTIO_BOOTSTRAP_OVERRIDE"),
    hostIp: env.isSet("HOST_IP") ? env.string("HOST_IP") : undefined,
    stripFragmentFromPath: env.bool("HTTP_STRIP_FRAGMENT_FROM_PATH_UNSAFE_IF_DISABLED"),
  });
}

/** The field where the generation has it, and the variable over it. */
function parentShutdownSeconds(
  env: EnvReader,
  { parentShutdownDuration }: ProxyConfig,
  drainSeconds: number,
  log: Logger,
): number | undefined {
  const configured = parentShutdownDuration === undefined ? undefined : toMs(parentShutdownDuration) / 1000;
  if (!env.isSet("ENVOY_PARENT_SHUTDOWN_DURATION")) return configured;
  const seconds = env.durationMs("ENVOY_PARENT_SHUTDOWN_DURATION") / 1000;
  if (Number.isInteger(seconds) && seconds > drainSeconds && seconds <= 3600) return seconds;
  const allowed = `whole seconds, more than the drain duration of ${drainSeconds} s, 1h at most`;
  log.warn("ENVOY_PARENT_SHUTDOWN_DURATION is ignored", { value: `${seconds}s`, allowed });
  return configured;
}

function toMs(duration: string): number {
  return Number(parseProtoDuration(duration)) / 1e6;
}

export interface EnvoyLogLevels {
  /** Envoy's `-l`; empty leaves the argument out. */
  readonly level: string;
  /** `--component-log-level`; empty leaves the argument out. */
  readonly components: string;
}

/** `info,misc:error` carries component levels in the level; they then replace --proxyComponentLogLevel. */
export function splitProxyLogLevel(
  level: string,
  components: string,
  rules: GenerationRules,
  log: Logger,
): EnvoyLogLevels {
  if (!rules.splitsProxyLogLevel) return { level, components };
  let plain = "";
  const found: string[] = [];
  for (const item of level.split(",")) {
    const colons = item.split(":").length - 1;
    if (colons === 0) plain = item;
    else if (colons === 1) found.push(item);
    else log.warn(`dropping invalid log level: ${item}`);
  }
  return { level: plain, components: found.length > 0 ? found.join(",") : components };
}
