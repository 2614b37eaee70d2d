import { availableParallelism, networkInterfaces } from "node:os";
import { deepFreeze } from "../base/deep-freeze.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import { defaultProxyConfig } from "../istio-api/proxy-config/default-proxy-config.ts";
import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import type { ProxySettings } from "../net/http-proxy/proxy-route.ts";
import type { PlatformSettings } from "../platform/index.ts";
import type { StatusSettings } from "../status/index.ts";
import type { TokenExchangeSettings } from "../sts/index.ts";
import { type BootstrapSettings, readBootstrapSettings } from "./bootstrap.ts";
import { ConfigError, joinConfigErrors } from "./config-error.ts";
import { type ConfigFiles, diskFiles } from "./config-files.ts";
import { type AgentConsoleSettings, readAgentConsole } from "./console.ts";
import { type DnsSettings, readDnsSettings } from "./dns.ts";
import { createEnvReader, type Environment, type EnvReader } from "./env-reader.ts";
import { isReadLate, nearMisses, withoutEffect } from "./environment-warnings.ts";
import { type EnvoySettings, readEnvoySettings } from "./envoy.ts";
import { chooseGeneration, type GenerationRules } from "./generations.ts";
import { type IdentitySettings, readIdentitySettings } from "./identity.ts";
import { readPlatformSettings } from "./platform.ts";
import { readAnnotations } from "./pod-info/read-pod-info.ts";
import { applyTemplateFlag, readProxyConfig } from "./proxy-config/read-proxy-config.ts";
import { type LookupHost, systemLookup } from "./proxy-config/resolve-statsd.ts";
import type { ProxyFlags } from "./proxy-flags.ts";
import type { DiscoveryRetry, NetworkInterfaces } from "./role/discover-addresses.ts";
import { type ProxyRole, readRole } from "./role/read-role.ts";
import { caRootCa } from "./root-ca.ts";
import { readSdsSettings, type SdsSettings } from "./sds.ts";
import { readStatusSettings } from "./status.ts";
import { readStsSettings } from "./sts.ts";
import { readWasmSettings, type WasmSettings } from "./wasm.ts";
import { readProxySettings, readXdsSettings, type XdsSettings } from "./xds.ts";

/** All settings of `proxy`, read once. */
export interface AgentConfig {
  readonly generation: GenerationRules;
  readonly role: ProxyRole;
  readonly proxyConfig: ProxyConfig;
  readonly agent: AgentOptions;
  readonly identity: IdentitySettings;
  readonly sds: SdsSettings;
  /** Undefined when neither Envoy nor the agent exchanges tokens. */
  readonly sts: TokenExchangeSettings | undefined;
  readonly xds: XdsSettings;
  readonly bootstrap: BootstrapSettings;
  readonly envoy: EnvoySettings;
  readonly status: StatusSettings;
  /** Undefined without a console, which is the default. */
  readonly console: AgentConsoleSettings | undefined;
  /** Undefined when DNS is not captured. */
  readonly dns: DnsSettings | undefined;
  /** Undefined when remote modules are left to Envoy. */
  readonly wasm: WasmSettings | undefined;
  readonly proxies: ProxySettings;
  /** Input of `startPlatformDetection`. */
  readonly platform: PlatformSettings;
}

export interface AgentConfigSources {
  /** Positional words after `proxy`. */
  readonly args: readonly string[];
  readonly flags: ProxyFlags;
  readonly env: Environment;
  readonly log: Logger;
  /** Absent: chosen by PILOT_AGENT_GENERATION. */
  readonly generation?: GenerationRules;
  readonly uid: number;
  readonly files?: ConfigFiles;
  readonly networkInterfaces?: NetworkInterfaces;
  readonly addressRetry?: DiscoveryRetry;
  readonly lookupHost?: LookupHost;
  readonly hostCpus?: number;
  readonly signal?: AbortSignal;
  /** The warnings of `environmentWarnings` were printed already. */
  readonly environmentWarned?: boolean;
}

/** Rejects with a ConfigError that holds the problems of all sources, before anything is started. */
export async function readAgentConfig(sources: AgentConfigSources): Promise<AgentConfig> {
  const { args, flags, uid, files = diskFiles, signal } = sources;
  const rules = sources.generation ?? chooseGeneration(sources.env.PILOT_AGENT_GENERATION);
  const env = createEnvReader(sources.env, rules.name, (text, name) => {
    if (sources.environmentWarned !== true || isReadLate(name)) sources.log.warn(text, { variable: name });
  });
  for (const line of withoutEffect(sources.env, rules.name)) sources.log.warn(line);
  for (const line of nearMisses(sources.env)) sources.log.warn(line);
  const errors: ConfigError[] = [];
  // After a failure the other steps still look for problems, but what they would announce is not going to happen.
  const log = () => (errors.length === 0 ? sources.log : silentLogger);
  const annotations = await readAnnotations(files, rules, log());

  const readRoleOf = (words: readonly string[]) =>
    readRole({
      args: words,
      flags,
      env,
      rules,
      annotations,
      networkInterfaces: sources.networkInterfaces ?? networkInterfaces,
      log: log(),
      ...(sources.addressRetry && { retry: sources.addressRetry }),
      ...(signal && { signal }),
    });
  const role = await attempt(
    errors,
    () => readRoleOf(args),
    () => readRoleOf([]),
  );
  const merged = await attempt(
    errors,
    () =>
      readProxyConfig({
        flags,
        env,
        rules,
        annotations,
        files,
        hostCpus: sources.hostCpus ?? availableParallelism(),
        isSidecar: role.type === "sidecar",
        lookupHost: sources.lookupHost ?? systemLookup,
        log: log(),
        signal,
      }),
    () => defaultProxyConfig(rules),
  );
  const secured = await attempt(
    errors,
    () => readIdentitySettings({ env, flags, rules, proxyConfig: merged, exists: files.exists, log: log() }),
    () => undefined,
  );
  const proxyConfig = applyTemplateFlag(merged, flags.templateFile);
  const status = await attempt(
    errors,
    () => readStatusSettings(env, flags, role, proxyConfig, rules.status),
    () => undefined,
  );
  const consoleOfAgent = await attempt(
    errors,
    () => readAgentConsole(env, flags),
    () => undefined,
  );
  const failed = joinConfigErrors(errors);
  if (failed !== undefined) throw failed;
  if (secured === undefined || status === undefined) throw new Error("a step without result has reported no error");
  const { sources: certificates, ...identity } = secured;
  const envoy = readEnvoySettings({ env, flags, role, proxyConfig, rules, uid, log: log() });
  const xds = readXdsSettings(env, proxyConfig, rules, certificates, files.exists);
  const { provider } = identity.ca;
  const relaySources = {
    discoveryAddress: proxyConfig.discoveryAddress ?? "",
    root:
      xds.tls?.root ??
      caRootCa({ configured: env.string("CA_ROOT_CA"), provider, sources: certificates }, files.exists),
  };
  return deepFreeze({
    generation: rules,
    role,
    proxyConfig,
    agent: readAgentOptions(env),
    identity,
    sds: readSdsSettings(env, proxyConfig, rules),
    sts: readStsSettings({ env, flags, role, rules, tokens: identity.tokens, log: log() }),
    xds,
    bootstrap: readBootstrapSettings({ env, flags, role, proxyConfig, rules, exists: files.exists }),
    envoy,
    status,
    console: consoleOfAgent,
    dns: readDnsSettings(env, role, rules, envoy.user !== undefined, relaySources, log()),
    wasm: readWasmSettings(env, rules.wasm, log()),
    proxies: readProxySettings(env),
    platform: readPlatformSettings(env, rules, role.supportsIpv6),
  });
}

/** Runs one step; its ConfigError is collected and a stand-in lets the next steps be checked as well. */
async function attempt<Value>(
  errors: ConfigError[],
  step: () => Value | Promise<Value>,
  standIn: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await step();
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    errors.push(thrown);
    return standIn();
  }
}

/** What the composition root itself decides by. */
interface AgentOptions {
  /** Proxyless: no Envoy process. */
  readonly disableEnvoy: boolean;
  readonly namespace: string;
  /** "" writes none. */
  readonly grpcBootstrapPath: string;
  readonly iptablesTraceLogging: boolean;
}

export function readAgentOptions(env: EnvReader): AgentOptions {
  return Object.freeze({
    disableEnvoy: env.bool("DISABLE_ENVOY"),
    namespace: env.string("POD_NAMESPACE"),
    grpcBootstrapPath: env.string("GRPC_XDS_BOOTSTRAP"),
    iptablesTraceLogging: env.bool("IPTABLES_TRACE_LOGGING"),
  });
}
