import type { ProxyConfig } from "../../protocol/proxy-config.ts";
import { ConfigError } from "../config-error.ts";
import { deepFreeze } from "../deep-freeze.ts";
import type { EnvReader } from "../env-reader.ts";
import { jsonSyntaxError } from "../json-syntax-error.ts";
import type { ProxyFlags } from "../proxy-flags.ts";
import { probeSourceAddress, statusLocalhost } from "../role/localhost.ts";
import type { ProxyRole } from "../role/read-role.ts";

export interface StatusConfig {
  /** 0: no status server. */
  readonly statusPort: number;
  readonly adminPort: number;
  readonly envoyStatusPort: number;
  readonly envoyPrometheusPort: number;
  readonly isIpv6: boolean;
  readonly localhost: string;
  readonly probeSourceAddress: string;
  /** INSTANCE_IP as given: where application probes go. */
  readonly podIp: string;
  readonly proxyType: ProxyRole["type"];
  readonly noEnvoy: boolean;
  readonly grpcBootstrapPath: string;
  readonly profiling: boolean;
  /** Decoded JSON of ISTIO_KUBE_APP_PROBERS by URL path. */
  readonly appProbers: Readonly<Record<string, unknown>>;
  /** Decoded JSON of ISTIO_PROMETHEUS_ANNOTATIONS; undefined when unset or not a sidecar. */
  readonly prometheus: unknown;
  readonly http2Probing: boolean;
  readonly legacyLocalhostProbes: boolean;
  readonly keepaliveProbes: boolean;
  readonly mergeEnvoyStats: boolean;
  readonly metricsLocalhostOnly: boolean;
}

/** Throws with both problems at once when the JSON of the probers and of the scrape settings does not decode. */
export function readStatusConfig(
  env: EnvReader,
  flags: ProxyFlags,
  role: ProxyRole,
  proxyConfig: ProxyConfig,
): StatusConfig {
  const statusPort = proxyConfig.statusPort ?? 0;
  const podIp = env.string("INSTANCE_IP");
  const problems: { name: string; text: string; message: string }[] = [];
  // Without a status server nobody would use them, and the reference does not look either.
  const probers = statusPort > 0 ? env.string("ISTIO_KUBE_APP_PROBERS") : "";
  const proberError = probers === "" ? undefined : objectProblem(probers, "map[string]*status.Prober");
  if (proberError !== undefined) {
    const message = `failed to decode app prober err = ${proberError}, json string = ${probers}`;
    problems.push({ name: "ISTIO_KUBE_APP_PROBERS", text: probers, message });
  }
  // Set but empty must decode as well: the injector never writes that, so it is a mistake worth stopping for.
  const wantsScrape = statusPort > 0 && role.type === "sidecar" && env.isSet("ISTIO_PROMETHEUS_ANNOTATIONS");
  const scrape = wantsScrape ? env.string("ISTIO_PROMETHEUS_ANNOTATIONS") : undefined;
  const scrapeError = scrape === undefined ? undefined : objectProblem(scrape, "status.PrometheusScrapeConfiguration");
  if (scrape !== undefined && scrapeError !== undefined) {
    const message = `failed to unmarshal ISTIO_PROMETHEUS_ANNOTATIONS: ${scrapeError}`;
    problems.push({ name: "ISTIO_PROMETHEUS_ANNOTATIONS", text: scrape, message });
  }
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
  return deepFreeze({
    statusPort,
    adminPort: proxyConfig.proxyAdminPort ?? 0,
    envoyStatusPort: env.int("ENVOY_STATUS_PORT"),
    envoyPrometheusPort: env.int("ENVOY_PROMETHEUS_PORT"),
    isIpv6: role.isIpv6,
    localhost: statusLocalhost(role, podIp),
    probeSourceAddress: probeSourceAddress(role.isIpv6),
    podIp,
    proxyType: role.type,
    noEnvoy: env.bool("DISABLE_ENVOY"),
    grpcBootstrapPath: env.string("GRPC_XDS_BOOTSTRAP"),
    profiling: flags.profiling,
    appProbers: probers === "" ? {} : (JSON.parse(probers) ?? {}),
    prometheus: scrape === undefined ? undefined : JSON.parse(scrape),
    http2Probing: env.bool("ISTIO_ENABLE_HTTP2_PROBING"),
    legacyLocalhostProbes: env.bool("REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION"),
    keepaliveProbes: env.bool("ENABLE_PROBE_KEEPALIVE_CONNECTIONS"),
    mergeEnvoyStats: env.bool("PILOT_AGENT_MERGE_ENVOY_STATS"),
    metricsLocalhostOnly: env.bool("METRICS_LOCALHOST_ACCESS_ONLY"),
  });
}

function objectProblem(text: string, goType: string): string | undefined {
  const syntax = jsonSyntaxError(text);
  if (syntax !== undefined) return syntax;
  const value: unknown = JSON.parse(text);
  if (value === null || (typeof value === "object" && !Array.isArray(value))) return undefined;
  const kind = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return `json: cannot unmarshal ${kind} into Go value of type ${goType}`;
}
