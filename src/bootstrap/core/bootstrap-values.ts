import { parseExactJson } from "../../files/json/exact-json.ts";
import { jsonSyntaxError } from "../../files/json/json-syntax-error.ts";
import type { ProxyConfig, RemoteService } from "../../istio-api/proxy-config/proxy-config.ts";
import { isIP, isLinkLocal } from "../../net/ip.ts";
import { BootstrapError } from "../bootstrap-error.ts";
import type { BootstrapInputs } from "../inputs.ts";
import type { BootstrapRules } from "./generations.ts";
import type { NodeDescriptor } from "./node-descriptor.ts";
import { globalDownstreamLimit, type RuntimeValue, runtimeLayer } from "./runtime-layer.ts";
import { hostOf, parseSocketAddress, type SocketAddress } from "./socket-address.ts";
import { type StatsSettings, statsSettings } from "./stats-settings.ts";
import type { ClientTlsPaths } from "./tls-context.ts";

const IPV4 = { localhost: "127.0.0.1", wildcard: "0.0.0.0" };
const IPV6 = { localhost: "::1", wildcard: "::" };

export type Tracer =
  | { readonly kind: "zipkin" | "datadog"; readonly address: SocketAddress }
  | { readonly kind: "lightstep"; readonly address: SocketAddress; readonly accessToken: string };

export interface RemoteServiceValues {
  readonly address: SocketAddress;
  readonly service: RemoteService;
}

/** Everything the built-in document and users' templates are rendered from: inputs checked, addresses parsed, choices made. */
export interface BootstrapValues {
  readonly inputs: BootstrapInputs;
  readonly config: ProxyConfig;
  readonly generation: BootstrapRules;
  readonly node: NodeDescriptor;
  readonly network: NodeNetwork;
  readonly xdsType: "GRPC" | "DELTA_GRPC";
  readonly metadataDiscovery: boolean;
  readonly metricsLocalhostOnly: boolean;
  readonly selfDiscovery: boolean;
  readonly runtime: Readonly<Record<string, RuntimeValue>>;
  readonly globalDownstreamLimit: number;
  /** Undefined when there is no discovery address. */
  readonly discovery: SocketAddress | undefined;
  readonly discoveryHost: string;
  readonly tracer: Tracer | undefined;
  readonly gcpProject: string;
  readonly metricsService: RemoteServiceValues | undefined;
  readonly accessLogService: RemoteServiceValues | undefined;
  readonly statsd: SocketAddress | undefined;
  readonly tlsPaths: ClientTlsPaths;
  readonly stats: StatsSettings;
  /** The load report settings of LOAD_STATS_CONFIG_JSON, parsed. */
  readonly loadStatsConfig: unknown;
  readonly warnings: readonly string[];
}

/** Throws `BootstrapError` for addresses and structured values that cannot be used. */
export function bootstrapValues(inputs: BootstrapInputs, node: NodeDescriptor): BootstrapValues {
  const { proxyConfig: config, features } = inputs;
  const { rules: generation } = inputs;
  const warnings: string[] = [];
  const waypoint = inputs.nodeId.startsWith("waypoint~");
  const mayDelta = generation.document.xds === "agent";
  const xdsType = mayDelta && (features.deltaXds || waypoint) ? "DELTA_GRPC" : "GRPC";
  const wantsDiscovery = waypoint || node.typed.METADATA_DISCOVERY === "true";
  if (wantsDiscovery && xdsType === "GRPC") warnings.push("disabling metadata discovery; not supported on SotW XDS");
  const address = (parameter: string, value: string | undefined) =>
    value ? parseSocketAddress(parameter, value, inputs.env.HOST_IP) : undefined;
  const text = (key: string) => String(node.typed[key] ?? "");
  return {
    inputs,
    config,
    generation,
    node,
    network: nodeNetwork(inputs.nodeIps, features.dualStack),
    xdsType,
    metadataDiscovery: wantsDiscovery && xdsType === "DELTA_GRPC",
    metricsLocalhostOnly: config.proxyMetadata?.METRICS_LOCALHOST_ACCESS_ONLY === "true",
    selfDiscovery: node.typed.ENABLE_SELF_DISCOVERY === "true",
    runtime: runtimeLayer(inputs, generation.document),
    globalDownstreamLimit: globalDownstreamLimit(inputs, warnings),
    discovery: address("pilot_grpc_address", config.discoveryAddress),
    discoveryHost: hostOf(config.discoveryAddress ?? ""),
    tracer: chooseTracer(config, address),
    gcpProject: gcpProject(inputs),
    metricsService: remoteService("envoy_metrics_service_address", metricsService(config), address),
    accessLogService: remoteService("envoy_accesslog_service_address", config.envoyAccessLogService, address),
    statsd: address("statsd", config.statsdUdpAddress),
    tlsPaths: {
      rootCert: text("TLS_CLIENT_ROOT_CERT"),
      certChain: text("TLS_CLIENT_CERT_CHAIN"),
      key: text("TLS_CLIENT_KEY"),
    },
    stats: statsSettings(inputs, node, generation.document, warnings),
    loadStatsConfig: loadStatsConfig(node),
    warnings,
  };
}

type AddressReader = (parameter: string, value: string | undefined) => SocketAddress | undefined;

function chooseTracer({ tracing }: ProxyConfig, address: AddressReader): Tracer | undefined {
  const zipkin = address("zipkin", tracing?.zipkin?.address);
  if (zipkin !== undefined) return { kind: "zipkin", address: zipkin };
  const lightstep = address("lightstep", tracing?.lightstep?.address);
  if (lightstep !== undefined) {
    return { kind: "lightstep", address: lightstep, accessToken: tracing?.lightstep?.accessToken ?? "" };
  }
  const datadog = address("datadog", tracing?.datadog?.address);
  return datadog === undefined ? undefined : { kind: "datadog", address: datadog };
}

function gcpProject({ proxyConfig, platform }: BootstrapInputs): string {
  const project = platform.metadata.gcp_project ?? "";
  if (proxyConfig.tracing?.stackdriver !== undefined && project === "") {
    throw new BootstrapError("missing-gcp-project", "unable to process Stackdriver tracer: missing GCP Project");
  }
  return project;
}

/** The deprecated plain address stands for a service with nothing else set. */
function metricsService(config: ProxyConfig): RemoteService | undefined {
  if (config.envoyMetricsService?.address) return config.envoyMetricsService;
  if (!config.envoyMetricsServiceAddress) return undefined;
  return { ...config.envoyMetricsService, address: config.envoyMetricsServiceAddress };
}

function remoteService(
  parameter: string,
  service: RemoteService | undefined,
  address: AddressReader,
): RemoteServiceValues | undefined {
  const parsed = address(parameter, service?.address);
  return parsed === undefined || service === undefined ? undefined : { address: parsed, service };
}

function loadStatsConfig(node: NodeDescriptor): unknown {
  const text = node.raw.get("LOAD_STATS_CONFIG_JSON");
  if (typeof text !== "string" || text === "") return undefined;
  try {
    return parseExactJson(text);
  } catch (failure) {
    const message = `ISTIO_META_LOAD_STATS_CONFIG_JSON: ${JSON.stringify(text)} is not JSON: ${jsonSyntaxError(text) ?? (failure as Error).message}`;
    throw new BootstrapError("invalid-metadata", message);
  }
}

/** Addresses that listeners and clusters of the bootstrap use, after the families of the node's addresses. */
interface NodeNetwork {
  readonly localhost: string;
  readonly wildcard: string;
  readonly dnsLookupFamily: "V4_ONLY" | "V6_ONLY" | "ALL";
  /** The other family, in dual stack only. */
  readonly additional: { readonly localhost: string; readonly wildcard: string } | undefined;
}

export function nodeNetwork(nodeIps: readonly string[], dualStack: boolean): NodeNetwork {
  const families = new Set(nodeIps.map(isIP));
  if (families.has(6) && !families.has(4)) return { ...IPV6, dnsLookupFamily: "V6_ONLY", additional: undefined };
  if (!dualStack || !families.has(6) || !families.has(4))
    return { ...IPV4, dnsLookupFamily: "V4_ONLY", additional: undefined };
  const first = nodeIps[0] ?? "";
  if (isIP(first) === 0) {
    throw new BootstrapError(
      "invalid-address",
      `dual stack needs an IP address as the first node address, got "${first}"`,
    );
  }
  const ipv6First = isIP(first) === 6 && !isLinkLocal(first);
  const [main, additional] = ipv6First ? [IPV6, IPV4] : [IPV4, IPV6];
  return { ...main, dnsLookupFamily: "ALL", additional };
}
