import { quoteGo } from "../../base/go-quote.ts";
import { parseProtoDuration } from "../../protobuf/proto-duration.ts";
import { addressProblem, portProblem } from "../values/address.ts";
import { durationProblem } from "../values/duration-problem.ts";
import { tlsSettingsProblems } from "../values/tls-settings.ts";
import type { ValidationProblem } from "./explain-problems.ts";
import type {
  ConnectionSettings,
  CryptoAccelerator,
  PrivateKeyProvider,
  ProxyConfig,
  Tracing,
} from "./proxy-config.ts";
import type { ProxyConfigRules } from "./proxy-config-rules.ts";

const SECOND = 1_000_000_000n;
const HOUR = 3600n * SECOND;

const ALLOWED: Readonly<Record<Rule, string>> = {
  "non-negative": "0 or more",
  positive: "1 or more",
  "at least 65535": "65535 or more",
};
/** HTTP/2 gives every stream and connection a window of this size to begin with; less cannot be announced. */
const SMALLEST_WINDOW = 65_535;
const RULES: readonly (readonly [keyof ConnectionSettings, Rule])[] = [
  ["listenerPerConnectionBufferLimitBytes", "non-negative"],
  ["clusterPerConnectionBufferLimitBytes", "non-negative"],
  ["httpIdleTimeout", "non-negative"],
  ["httpMaxConnectionDuration", "non-negative"],
  ["httpDrainTimeout", "non-negative"],
  ["httpRequestTimeout", "non-negative"],
  ["httpRequestHeadersTimeout", "non-negative"],
  ["httpStreamIdleTimeout", "non-negative"],
  ["httpMaxStreamDuration", "non-negative"],
  ["httpMaxConcurrentStreams", "positive"],
  ["http2InitialStreamWindowSize", "at least 65535"],
  ["http2InitialConnectionWindowSize", "at least 65535"],
  ["listenerConnectionLimit", "positive"],
  ["globalDownstreamConnectionLimit", "positive"],
];

/** All broken rules of a ProxyConfig in the order the reference checks them; empty when it is usable. */
export function proxyConfigProblems(config: ProxyConfig, rules: ProxyConfigRules): readonly ValidationProblem[] {
  return [
    ...required("configPath", config.configPath, "config path must be set"),
    ...required("binaryPath", config.binaryPath, "binary path must be set"),
    ...clusterName(config),
    ...drainProblems(config, rules),
    ...discoveryAddress(config),
    ...tracingProblems(config.tracing ?? {}),
    ...address("statsdUdpAddress", config.statsdUdpAddress, "statsd udp address"),
    ...address("envoyMetricsServiceAddress", config.envoyMetricsServiceAddress, "envoy metrics service address"),
    ...address("envoyMetricsService.address", config.envoyMetricsService?.address, "envoy metrics service address"),
    ...address(
      "envoyAccessLogService.address",
      config.envoyAccessLogService?.address,
      "envoy access log service address",
    ),
    ...prefixed("proxyAdminPort", "invalid proxy admin port:", portProblem(config.proxyAdminPort ?? 0)),
    ...authenticationPolicy(config),
    ...(rules.validatesStatusPort
      ? prefixed("statusPort", "invalid status port:", portProblem(config.statusPort ?? 0))
      : []),
    ...privateKeyProvider(config.privateKeyProvider, rules),
    ...(rules.validatesConnectionSettings ? connectionSettingsProblems(config.connectionSettings ?? {}) : []),
  ];
}

/** Things worth a warning, none of which stops the start. */
export function proxyConfigWarnings(config: ProxyConfig): readonly string[] {
  if (config.proxyMetadata?.ISTIO_META_DNS_AUTO_ALLOCATE === undefined) return [];
  return ["proxyMetadata ISTIO_META_DNS_AUTO_ALLOCATE is deprecated"];
}

/** The fields a proxy cannot run without. */
function required(field: string, value: string | undefined, message: string): readonly ValidationProblem[] {
  return value === undefined || value === "" ? [{ field, message }] : [];
}

function prefixed(
  field: string,
  prefix: string,
  ...reasons: readonly (string | undefined)[]
): readonly ValidationProblem[] {
  return reasons.flatMap((reason) => (reason === undefined ? [] : [{ field, message: `${prefix} ${reason}` }]));
}

function address(field: string, value: string | undefined, what: string): readonly ValidationProblem[] {
  if (value === undefined || value === "") return [];
  return prefixed(field, `invalid ${what} ${quoteGo(value)}:`, addressProblem(value));
}

/** An empty name is a mistake, no name at all another. */
function clusterName(config: ProxyConfig): readonly ValidationProblem[] {
  if (config.serviceCluster !== undefined)
    return required("serviceCluster", config.serviceCluster, "service cluster must be specified");
  if (config.tracingServiceName !== undefined) return [];
  return [{ field: "serviceCluster", message: "oneof service cluster or tracing service name must be specified" }];
}

function discoveryAddress({ discoveryAddress: value = "" }: ProxyConfig): readonly ValidationProblem[] {
  if (value === "")
    return [{ field: "discoveryAddress", message: "discovery address must be set to the proxy discovery service" }];
  return prefixed("discoveryAddress", "invalid discovery address:", addressProblem(value));
}

function tracingProblems({ lightstep, zipkin, datadog, tlsSettings }: Tracing): readonly ValidationProblem[] {
  const problems: ValidationProblem[] = [];
  if (lightstep !== undefined) {
    const { address: host = "", accessToken = "" } = lightstep;
    const reason = addressProblem(host);
    problems.push(
      ...prefixed(
        "tracing.lightstep.address",
        "invalid lightstep config:",
        host === "" ? "address is required" : undefined,
      ),
      ...prefixed("tracing.lightstep.address", "invalid lightstep config: invalid lightstep address:", reason),
      ...prefixed(
        "tracing.lightstep.accessToken",
        "invalid lightstep config:",
        accessToken === "" ? "access token is required" : undefined,
      ),
    );
  }
  if (zipkin !== undefined)
    problems.push(...prefixed("tracing.zipkin.address", "invalid zipkin config:", collector(zipkin.address)));
  if (datadog !== undefined)
    problems.push(...prefixed("tracing.datadog.address", "invalid datadog config:", collector(datadog.address)));
  if (tlsSettings !== undefined)
    problems.push(
      ...prefixed("tracing.tlsSettings", "invalid tracing TLS config:", ...tlsSettingsProblems(tlsSettings)),
    );
  return problems;
}

/** The node's address is known only to the pod; any address stands in for it. */
function collector(value = ""): string | undefined {
  return addressProblem(value.replace("$(HOST_IP)", "127.0.0.1"));
}

/** INHERIT and numbers without a name decode, but mean nothing here. */
function authenticationPolicy({ controlPlaneAuthPolicy: policy = "NONE" }: ProxyConfig): readonly ValidationProblem[] {
  if (policy === "NONE" || policy === "MUTUAL_TLS") return [];
  const message = `invalid authentication policy: unrecognized control plane auth policy ${quoteGo(String(policy))}`;
  return [{ field: "controlPlaneAuthPolicy", message }];
}

function privateKeyProvider(
  provider: PrivateKeyProvider | undefined,
  rules: ProxyConfigRules,
): readonly ValidationProblem[] {
  if (provider === undefined) return [];
  const reasons = acceleratorReasons(provider.cryptomb ?? provider.qat);
  return prefixed("privateKeyProvider", rules.privateKeyProviderPrefix, ...reasons);
}

/** Both texts for an empty provider are the reference's. */
function acceleratorReasons(accelerator: CryptoAccelerator | undefined): readonly string[] {
  if (accelerator === undefined)
    return ["private key provider configuration is required", "unknown private key provider"];
  if (accelerator.pollDelay === undefined) return ["pollDelay is required"];
  return parseProtoDuration(accelerator.pollDelay) === 0n ? ["pollDelay must be non zero"] : [];
}

type Rule = "non-negative" | "positive" | "at least 65535";

/** Members are checked only where they are set; the messages name them as the proto file does. */
function connectionSettingsProblems(settings: ConnectionSettings): readonly ValidationProblem[] {
  return RULES.flatMap(([name, rule]) => {
    const value = settings[name];
    if (value === undefined || holds(rule, asNumber(value))) return [];
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const message = `invalid connection settings: ${snake} must be ${rule}`;
    return [{ field: `connectionSettings.${name}`, message, allowed: ALLOWED[rule] }];
  });
}

/** A duration counts in nanoseconds; only its sign matters here. */
function asNumber(value: string | number | boolean): number {
  return typeof value === "string" ? Number(parseProtoDuration(value)) : Number(value);
}

function holds(rule: Rule, value: number): boolean {
  if (rule === "positive") return value > 0;
  return rule === "non-negative" ? value >= 0 : value >= SMALLEST_WINDOW;
}

/** Envoy takes its drain times in whole seconds. Generations with hot restart also relate the parent's shutdown to it. */
function drainProblems(config: ProxyConfig, rules: ProxyConfigRules): readonly ValidationProblem[] {
  const drain = parseProtoDuration(config.drainDuration ?? "0s");
  const reason = durationProblem(drain);
  if (!rules.validatesParentShutdown) {
    if (reason !== undefined) return [{ field: "drainDuration", message: `invalid drain duration: ${reason}` }];
    if (drain % SECOND === 0n) return [];
    return [{ field: "drainDuration", message: "drain time only supports durations to seconds precision" }];
  }
  const parent = parseProtoDuration(config.parentShutdownDuration ?? "0s");
  const parentReason = durationProblem(parent);
  const problems: ValidationProblem[] = [];
  if (reason !== undefined) problems.push({ field: "drainDuration", message: `invalid drain duration: ${reason}` });
  if (parentReason !== undefined) {
    problems.push({ field: "parentShutdownDuration", message: `invalid parent shutdown duration: ${parentReason}` });
  }
  // Times that are wrong by themselves make their combination meaningless.
  return problems.length > 0 ? problems : combination(drain, parent);
}

/** The old process must outlive its draining, or connections are cut. */
function combination(drain: bigint, parent: bigint): readonly ValidationProblem[] {
  const prefix = "invalid parent and drain time combination";
  const problems: ValidationProblem[] = [];
  const add = (field: string, message: string) => problems.push({ field, message });
  if (drain % SECOND !== 0n)
    add("drainDuration", "invalid drain duration: drain time only supports durations to seconds precision");
  if (parent % SECOND !== 0n)
    add(
      "parentShutdownDuration",
      "invalid parent shutdown duration: parent shutdown time only supports durations to seconds precision",
    );
  if (parent <= drain)
    add(
      "parentShutdownDuration",
      `${prefix}: parent shutdown time ${parent / SECOND}s must be greater than drain time ${drain / SECOND}s`,
    );
  if (drain > HOUR) add("drainDuration", "invalid drain duration: drain time must be <= 1h0m0s");
  if (parent > HOUR)
    add("parentShutdownDuration", "invalid parent shutdown duration: parent shutdown time must be <= 1h0m0s");
  return problems;
}
