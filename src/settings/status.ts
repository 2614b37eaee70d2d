import { errorCode, errorMessage } from "../base/coded-error.ts";
import { deepFreeze } from "../base/deep-freeze.ts";
import { jsonSyntaxError } from "../files/json/json-syntax-error.ts";
import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import { isRoutableIpv6 } from "../net/ip-mode.ts";
import { readAppProbers, readScrapeTargets, type StatusRules, type StatusSettings } from "../status/index.ts";
import { ConfigError } from "./config-error.ts";
import type { EnvReader } from "./env-reader.ts";
import { readOtlpSettings } from "./otlp.ts";
import type { ProxyFlags } from "./proxy-flags.ts";
import type { ProxyRole } from "./role/read-role.ts";

/** Throws with both problems at once when the probers or the scrape settings do not decode, or ask for what cannot be. */
export function readStatusSettings(
  env: EnvReader,
  flags: ProxyFlags,
  role: ProxyRole,
  proxyConfig: ProxyConfig,
  rules: StatusRules,
): StatusSettings {
  const statusPort = proxyConfig.statusPort ?? 0;
  const podIp = env.string("INSTANCE_IP");
  const otlp = statusPort > 0 ? readOtlpSettings(env) : undefined;
  const problems: { name: string; text: string; message: string }[] = [];
  // Without a status server they have no use, and the reference does not look either.
  const probers = statusPort > 0 ? env.string("ISTIO_KUBE_APP_PROBERS") : "";
  const proberError = probers === "" ? undefined : proberProblem(probers, rules);
  if (proberError !== undefined) problems.push({ name: "ISTIO_KUBE_APP_PROBERS", text: probers, message: proberError });
  // Set but empty must decode as well: the injector never writes that, so it is a mistake worth stopping for.
  const canScrape = role.type === "sidecar" && (probers !== "" || !rules.scrapesWithProbesOnly);
  const wantsScrape = statusPort > 0 && canScrape && env.isSet("ISTIO_PROMETHEUS_ANNOTATIONS");
  const scrape = wantsScrape ? env.string("ISTIO_PROMETHEUS_ANNOTATIONS") : undefined;
  const scrapeError = scrape === undefined ? undefined : scrapeProblem(scrape, statusPort, rules);
  if (scrape !== undefined && scrapeError !== undefined)
    problems.push({ name: "ISTIO_PROMETHEUS_ANNOTATIONS", text: scrape, message: scrapeError });
  if (problems.length > 0) {
    const sources = problems.map(({ name, text, message }) => ({
      source: `environment variable ${name}`,
      message,
      value: text,
      allowed: "a JSON object",
    }));
    throw new ConfigError(
      "invalid-status-options",
      problems.map((problem) => problem.message).join("\nalso: "),
      sources,
    );
  }
  // The status server and the token server also follow an IPv6 INSTANCE_IP.
  const isIpv6 = role.isIpv6 || isRoutableIpv6(podIp);
  return deepFreeze({
    rules,
    statusPort,
    envoyPrometheusPort: env.int("ENVOY_PROMETHEUS_PORT"),
    localhost: isIpv6 ? "::1" : "127.0.0.1",
    // The captured traffic rules let these through.
    probeSourceAddress: isIpv6 ? "::6" : "127.0.0.6",
    podIp,
    noEnvoy: env.bool("DISABLE_ENVOY"),
    profiling: flags.profiling,
    profilingSocket: flags.profiling ? env.string("PROFILING_SOCKET") : "",
    appProbers: probers === "" ? {} : (JSON.parse(probers) ?? {}),
    prometheus: scrape === undefined ? undefined : JSON.parse(scrape),
    http2Probing: env.bool("ISTIO_ENABLE_HTTP2_PROBING"),
    legacyLocalhostProbes: env.bool("REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION"),
    keepaliveProbes: env.bool("ENABLE_PROBE_KEEPALIVE_CONNECTIONS"),
    mergeEnvoyStats: env.bool("PILOT_AGENT_MERGE_ENVOY_STATS"),
    metricsLocalhostOnly: env.bool("METRICS_LOCALHOST_ACCESS_ONLY"),
    ...(otlp && { otlp }),
  });
}

function proberProblem(text: string, rules: StatusRules): string | undefined {
  const syntax = objectProblem(text, "map[string]*status.Prober");
  if (syntax !== undefined) return `failed to decode app prober err = ${syntax}, json string = ${text}`;
  try {
    readAppProbers(JSON.parse(text) ?? {}, rules.probers);
    return undefined;
  } catch (thrown) {
    const isType = errorCode(thrown) === "wrong-type";
    return isType
      ? `failed to decode app prober err = ${errorMessage(thrown)}, json string = ${text}`
      : errorMessage(thrown);
  }
}

function scrapeProblem(text: string, statusPort: number, rules: StatusRules): string | undefined {
  const syntax = objectProblem(text, "status.PrometheusScrapeConfiguration");
  if (syntax !== undefined) return `failed to unmarshal ISTIO_PROMETHEUS_ANNOTATIONS: ${syntax}`;
  try {
    readScrapeTargets(JSON.parse(text), statusPort, rules.targets);
    return undefined;
  } catch (thrown) {
    return errorMessage(thrown);
  }
}

function objectProblem(text: string, goType: string): string | undefined {
  const syntax = jsonSyntaxError(text);
  if (syntax !== undefined) return syntax;
  const value: unknown = JSON.parse(text);
  if (value === null || (typeof value === "object" && !Array.isArray(value))) return undefined;
  const kind = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return `json: cannot unmarshal ${kind} into Go value of type ${goType}`;
}
