import { deepFreeze } from "../../base/deep-freeze.ts";
import type { Logger } from "../../base/logger.ts";
import type { ConfigProblem } from "../../istio-api/config-problem.ts";
import { proxyConfigTable } from "../../istio-api/proxy-config/apply-proxy-config.ts";
import { defaultProxyConfig } from "../../istio-api/proxy-config/default-proxy-config.ts";
import { changedFields, explainProblems } from "../../istio-api/proxy-config/explain-problems.ts";
import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import { proxyConfigProblems } from "../../istio-api/proxy-config/validate-proxy-config.ts";
import { redactConfigText } from "../../istio-api/redact.ts";
import { formatErrorList } from "../../istio-api/values/error-list.ts";
import { printMessage } from "../../protobuf/json/print-message.ts";
import { ConfigError, joinConfigErrors } from "../config-error.ts";
import type { ConfigFiles } from "../config-files.ts";
import type { EnvReader } from "../env-reader.ts";
import type { GenerationRules } from "../generations.ts";
import { readCpuFiles } from "../pod-info/read-pod-info.ts";
import type { ProxyFlags } from "../proxy-flags.ts";
import { readMeshFile } from "../read-mesh-file.ts";
import { applyProxyConfigText } from "./apply-proxy-config-text.ts";
import { effectiveConcurrency } from "./concurrency.ts";
import { applyLegacyAnnotations } from "./legacy-annotations.ts";
import { type LookupHost, resolveStatsd } from "./resolve-statsd.ts";

export interface ProxyConfigSources {
  readonly flags: ProxyFlags;
  readonly env: EnvReader;
  readonly rules: GenerationRules;
  readonly annotations: ReadonlyMap<string, string>;
  readonly files: ConfigFiles;
  readonly hostCpus: number;
  /** Sidecars without ISTIO_CPU_LIMIT look for the CPU files of older injectors. */
  readonly isSidecar: boolean;
  readonly lookupHost: LookupHost;
  readonly log: Logger;
  /** Ends waiting for answers. */
  readonly signal?: AbortSignal | undefined;
}

const CONFIG_ANNOTATION = "proxy.istio.io/config";

/**
 * The effective ProxyConfig: defaults, mesh file, PROXY_CONFIG, annotation, then flags and the two old annotations. Rejects with every
 * problem of every source at once.
 */
export async function readProxyConfig(sources: ProxyConfigSources): Promise<ProxyConfig> {
  const { env, rules, annotations, log } = sources;
  const errors: ConfigError[] = [];
  const collect = <Layer extends { readonly error?: ConfigError | undefined }>(layer: Layer): Layer => {
    if (layer.error !== undefined) errors.push(layer.error);
    return layer;
  };
  let config = defaultProxyConfig(rules);
  // Which source gave each field its value, for the problems found only after the merge.
  const setBy = new Map<string, string>();
  const take = (next: ProxyConfig, source: string) => {
    for (const field of changedFields(config, next)) setBy.set(field, source);
    config = next;
  };
  take(collect(await readMeshFile(sources, config)).config, `file ${sources.flags.meshConfig}`);
  const layers = [
    {
      text: env.string("PROXY_CONFIG"),
      origin: "env",
      name: "environment",
      source: "environment variable PROXY_CONFIG",
    },
    {
      text: annotations.get(CONFIG_ANNOTATION) ?? "",
      origin: "annotation",
      name: "annotation",
      source: `annotation ${CONFIG_ANNOTATION}`,
    },
  ] as const;
  for (const { text, origin, ...layer } of layers) {
    if (text === "") continue;
    log.info(`Apply proxy config from ${origin} ${redactConfigText(text)}`);
    take(collect(await applyProxyConfigText(config, { ...layer, text }, rules, log)).config, layer.source);
  }
  take(await applyFlags(config, sources), "flags and environment");
  errors.push(...finalProblems(config, rules, errors, setBy));
  const legacy = applyLegacyAnnotations(config, annotations, log);
  errors.push(...legacy.problems.map(annotationError));
  const failed = joinConfigErrors(errors);
  if (failed !== undefined) throw failed;
  log.info(`Effective config: ${redactConfigText(printMessage(proxyConfigTable(), legacy.config))}`);
  return deepFreeze(structuredClone(legacy.config));
}

/** `--templateFile` names the bootstrap template unless a whole bootstrap is given. It comes after the effective config is logged. */
export function applyTemplateFlag(config: ProxyConfig, templateFile: string): ProxyConfig {
  if (templateFile === "" || (config.customConfigFile ?? "") !== "") return config;
  return deepFreeze({ ...config, proxyBootstrapTemplatePath: templateFile });
}

async function applyFlags(config: ProxyConfig, sources: ProxyConfigSources): Promise<ProxyConfig> {
  const { flags, env, rules, log } = sources;
  const { concurrency: configured, statsdUdpAddress: statsd = "", ...rest } = config;
  const cpuLimit =
    env.isSet("ISTIO_CPU_LIMIT") || !sources.isSidecar ? env.int("ISTIO_CPU_LIMIT") : await readCpuFiles(sources.files);
  const limits = { configured, flag: flags.concurrency, cpuLimit, hostCpus: sources.hostCpus };
  const concurrency = effectiveConcurrency(limits, rules, log);
  const statsdUdpAddress = await resolveStatsd(statsd, sources.lookupHost, log, { signal: sources.signal });
  const drainSeconds = env.isSet("TERMINATION_DRAIN_DURATION_SECONDS")
    ? env.int("TERMINATION_DRAIN_DURATION_SECONDS")
    : undefined;
  return {
    ...rest,
    ...serviceCluster(config, flags, rules),
    ...(concurrency !== undefined && { concurrency }),
    ...(statsdUdpAddress !== "" && { statsdUdpAddress }),
    ...(drainSeconds !== undefined && { terminationDrainDuration: `${drainSeconds}s` }),
  };
}

/** An explicit flag also replaces the built-in name, which is a default. */
function serviceCluster(
  config: ProxyConfig,
  flags: ProxyFlags,
  rules: GenerationRules,
): Pick<ProxyConfig, "serviceCluster"> {
  if (config.serviceCluster === undefined && !rules.flagsAlwaysWin) return {};
  const isBuiltIn =
    config.serviceCluster === defaultProxyConfig(rules).serviceCluster && flags.changed.has("serviceCluster");
  return rules.flagsAlwaysWin || config.serviceCluster === "" || isBuiltIn
    ? { serviceCluster: flags.serviceCluster }
    : {};
}

/** Problems of the merged config that the mesh file has not been blamed for already. */
function finalProblems(
  config: ProxyConfig,
  rules: GenerationRules,
  earlier: readonly ConfigError[],
  setBy: ReadonlyMap<string, string>,
): readonly ConfigError[] {
  const reported = new Set(earlier.flatMap((error) => error.problems.map((problem) => problem.message)));
  const fresh = proxyConfigProblems(config, rules).filter((problem) => !reported.has(problem.message));
  if (fresh.length === 0) return [];
  const message = `failed to get proxy config: ${formatErrorList(fresh.map((problem) => problem.message))}`;
  const sourceOf = (field: string) => setBy.get(field.split(".")[0] ?? field) ?? "built-in default";
  return [new ConfigError("invalid-proxy-config", message, explainProblems(fresh, config, sourceOf))];
}

function annotationError(problem: ConfigProblem): ConfigError {
  return new ConfigError("invalid-proxy-config", `failed to get proxy config: ${problem.source}: ${problem.message}`, [
    problem,
  ]);
}
