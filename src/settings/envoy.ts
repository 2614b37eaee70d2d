import type { Logger } from "../base/logger.ts";
import { type EnvoyOptions, type EnvoyRules, impliesHotRestart } from "../envoy/index.ts";
import type { ProxyOwner } from "../files/proxy-file.ts";
import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import { isIPv4 } from "../net/ip.ts";
import { parseProtoDuration } from "../protobuf/proto-duration.ts";
import type { EnvReader } from "./env-reader.ts";
import type { GenerationRules } from "./generations.ts";
import type { ProxyFlags } from "./proxy-flags.ts";
import type { ProxyRole } from "./role/read-role.ts";

/** The options of the supervised Envoy; the composition root adds its configuration, its environment and live objects. */
export type EnvoySettings = Pick<
  EnvoyOptions,
  "rules" | "binaryPath" | "args" | "admin" | "termination" | "hotRestart" | "guard" | "fips"
> & {
  /** Who Envoy runs as when the agent as root keeps port 53 for itself. */
  readonly user: ProxyOwner | undefined;
  /** Names of variables, a trailing `*` for any rest, that Envoy gets besides those it always gets. */
  readonly passEnvironment: readonly string[];
};

const PROXY_USER: ProxyOwner = { uid: 1337, gid: 1337 };

/** A third more than the drain: the usual 45 s of drain give the usual 60 s. */
const PARENT_SHUTDOWN_FACTOR = 4 / 3;

export interface EnvoySources {
  readonly env: EnvReader;
  readonly flags: ProxyFlags;
  readonly role: ProxyRole;
  readonly proxyConfig: ProxyConfig;
  readonly rules: GenerationRules;
  readonly uid: number;
  readonly log: Logger;
}

/** Ports and paths come from the effective ProxyConfig. */
export function readEnvoySettings(sources: EnvoySources): EnvoySettings {
  const { env, role, proxyConfig, rules, uid } = sources;
  const passed = env.string("ENVOY_PASS_ENVIRONMENT").split(/[\s,]+/);
  const hotRestart = readHotRestart(sources, rules.envoy);
  return {
    rules: rules.envoy,
    binaryPath: proxyConfig.binaryPath ?? "",
    args: readArgs(sources),
    admin: { host: loopbackOf(role.ipAddresses), port: proxyConfig.proxyAdminPort ?? 0 },
    termination: readTermination(sources),
    ...(hotRestart !== undefined && { hotRestart }),
    guard: env.bool("ENVOY_RESTART_ON_CRASH") ? "on" : "off",
    fips: env.string("COMPLIANCE_POLICY").startsWith("fips-140-"),
    user: uid === 0 && env.string("DNS_PROXY_ADDR").endsWith(":53") ? PROXY_USER : undefined,
    passEnvironment: [...passed.filter((name) => name !== ""), ...Object.keys(proxyConfig.proxyMetadata ?? {})],
  };
}

function readArgs({ env, flags, role, proxyConfig, rules, log }: EnvoySources): EnvoyOptions["args"] {
  const levels = splitProxyLogLevel(flags.proxyLogLevel, flags.proxyComponentLogLevel, rules, log);
  const { fileFlushInterval: flush, availabilityZone } = proxyConfig;
  return {
    drainMs: toMs(proxyConfig.drainDuration ?? "0s"),
    nodeIps: role.ipAddresses,
    logLevel: levels.level,
    componentLogLevel: levels.components,
    jsonLog: flags.logAsJson,
    ...(flush !== undefined && { fileFlushIntervalMs: toMs(flush) }),
    fileFlushMinSizeKb: proxyConfig.fileFlushMinSizeKb ?? 0,
    skipDeprecatedLogs: skipsDeprecatedLogs(env),
    enableCoreDump: env.bool("ISTIO_ENVOY_ENABLE_CORE_DUMP"),
    concurrency: Math.max(0, proxyConfig.concurrency ?? 0),
    serviceNode: role.serviceNode,
    statNameLength: proxyConfig.statNameLength ?? 189,
    ...(availabilityZone !== undefined && { availabilityZone }),
  };
}

export function skipsDeprecatedLogs(env: EnvReader): boolean {
  return env.applies("ENVOY_SKIP_DEPRECATED_LOGS") && env.bool("ENVOY_SKIP_DEPRECATED_LOGS");
}

const OWN_PORTS = [
  "ENVOY_STATUS_PORT",
  "ENVOY_PROMETHEUS_PORT",
  "ENVOY_SECURE_METRICS_PORT",
  "ENVOY_SECURE_MERGED_METRICS_PORT",
] as const;

function readTermination({ env, role, proxyConfig }: EnvoySources): EnvoyOptions["termination"] {
  const exitOnZero = {
    minimumMs: env.durationMs("MINIMUM_DRAIN_DURATION"),
    maximumMs: env.durationMs("MAXIMUM_DRAIN_DURATION"),
  };
  return {
    drainMs: toMs(proxyConfig.terminationDrainDuration ?? "0s"),
    inboundOnly: role.type === "sidecar",
    ownPorts: OWN_PORTS.map((name) => env.int(name)).filter((port) => port !== 0),
    ...(env.bool("EXIT_ON_ZERO_ACTIVE_CONNECTIONS") && { exitOnZero }),
  };
}

/** Undefined outside hot restart mode, which old generations are always in. */
function readHotRestart(sources: EnvoySources, { commandLine }: EnvoyRules): EnvoyOptions["hotRestart"] {
  const { env, proxyConfig, log } = sources;
  const drainSeconds = toMs(proxyConfig.drainDuration ?? "0s") / 1000;
  const configured = parentShutdownSeconds(env, proxyConfig, drainSeconds, log);
  if (!env.bool("ENVOY_HOT_RESTART") && !impliesHotRestart(commandLine)) return undefined;
  return { parentShutdownMs: (configured ?? Math.ceil(drainSeconds * PARENT_SHUTDOWN_FACTOR)) * 1000 };
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

/** Where Envoy's admin listens: ::1 only on nodes whose every address is IPv6. */
function loopbackOf(nodeIps: readonly string[]): "127.0.0.1" | "::1" {
  return nodeIps.length > 0 && !nodeIps.some(isIPv4) ? "::1" : "127.0.0.1";
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
