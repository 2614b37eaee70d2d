import { compareText } from "../../base/go-text.ts";
import { exactInteger } from "../../files/json/exact-json.ts";
import { wholeSeconds } from "../../protobuf/proto-duration.ts";
import { GoStruct, marshalGoJson } from "../../template/index.ts";
import type { BootstrapValues, RemoteServiceValues } from "./bootstrap-values.ts";
import { goProxyConfig } from "./go-proxy-config.ts";
import { type JsonObject, sortKeys, toStrictJson } from "./json.ts";
import { METADATA_TYPES } from "./metadata-keys.ts";
import type { SocketAddress } from "./socket-address.ts";
import { upstreamTlsSocket } from "./tls-context.ts";

const ACRONYMS = new Set(["ID", "DNS", "TLS", "HTTP", "HBONE", "HTTP10"]);
/** Names that do not follow from the key. */
const NAMES: Readonly<Record<string, string>> = {
  NAME: "InstanceName",
  INSTANCE_IPS: "InstanceIPs",
  PILOT_SAN: "PilotSubjectAltName",
};
/** A template sees a flag as a boolean and a list as a list, in spite of their form in the document. */
const ZEROS = { text: "", flag: false, number: 0, list: [], map: {}, texts: [], "pod-ports": [], object: {} } as const;

/** Parameters that exist even when they are empty. */
const ALWAYS = new Set(["nodeID", "cluster", "discovery_address", "discovery_host", "xds_type", "xds_root_cert"]);

/** The data of users' bootstrap templates, under the names the reference gives it; JSON-valued ones are JSON text. */
export function templateParameters(values: BootstrapValues): Readonly<Record<string, unknown>> {
  const all = {
    ...nodeParameters(values),
    ...networkParameters(values),
    ...agentParameters(values),
    ...tracingParameters(values),
    ...serviceParameters("envoy_metrics_service", values.metricsService, values),
    ...serviceParameters("envoy_accesslog_service", values.accessLogService, values),
    ...statsParameters(values),
  };
  return Object.fromEntries(
    Object.entries(all).filter(([name, value]) => ALWAYS.has(name) || (value !== undefined && value !== "")),
  );
}

function nodeParameters({ node, config, runtime, inputs, loadStatsConfig }: BootstrapValues) {
  return {
    nodeID: node.id,
    nodeType: node.id.split("~")[0],
    cluster: node.cluster,
    region: node.locality.region,
    zone: node.locality.zone,
    sub_zone: node.locality.sub_zone,
    meta_json_str: marshalGoJson(node.metadata),
    runtime_flags: marshalGoJson(sortKeys(runtime, compareText)),
    config: goProxyConfig(config),
    metadata: goMetadata(node.typed),
    pilot_SAN: marshalGoJson(inputs.agent.pilotSubjectAltNames.map((exact) => ({ exact }))),
    load_stats_config_json_str: loadStatsConfig === undefined ? undefined : node.raw.get("LOAD_STATS_CONFIG_JSON"),
  };
}

function networkParameters({ network, config, discovery, discoveryHost, xdsType, statsd, inputs }: BootstrapValues) {
  return {
    discovery_address: config.discoveryAddress ?? "",
    discovery_host: discoveryHost,
    pilot_grpc_address: addressText(discovery),
    xds_type: xdsType,
    xds_root_cert: inputs.agent.xdsRootCert,
    localhost: network.localhost,
    wildcard: network.wildcard,
    additional_localhost: network.additional?.localhost,
    additional_wildcard: network.additional?.wildcard,
    dual_stack: network.additional !== undefined,
    dns_lookup_family: network.dnsLookupFamily,
    statsd: addressText(statsd),
  };
}

function agentParameters(values: BootstrapValues) {
  const { inputs, config } = values;
  const { agent } = inputs;
  return {
    outlier_log_path: agent.outlierLogPath,
    custom_file_path: config.customConfigFile,
    log_json: agent.logAsJson,
    metadata_discovery: values.metadataDiscovery,
    metrics_localhost_access_only: values.metricsLocalhostOnly,
    secure_metrics_port: agent.envoySecureMetricsPort || undefined,
    secure_merged_metrics_port: agent.envoySecureMergedMetricsPort || undefined,
    envoy_status_port: agent.envoyStatusPort,
    envoy_prometheus_port: agent.envoyPrometheusPort,
    envoy_status_port_enable_proxy_protocol: inputs.features.statusPortProxyProtocol,
    enable_self_discovery: values.selfDiscovery,
    workload_identity_socket_file: agent.workloadIdentitySocketFile,
    global_downstream_max_connections: values.globalDownstreamLimit,
    envoy_metrics_stats_compression: config.statsCompression ?? true,
    sts: agent.stsPort !== 0,
    sts_port: agent.stsPort === 0 ? undefined : String(agent.stsPort),
    gcp_project_id: agent.stsPort === 0 ? undefined : values.gcpProject,
    gcp_project_number: inputs.platform.metadata.gcp_project_number,
  };
}

function tracingParameters({ config, tracer, tlsPaths, gcpProject }: BootstrapValues) {
  const { stackdriver, tlsSettings } = config.tracing ?? {};
  const socket = upstreamTlsSocket({
    settings: tlsSettings,
    paths: tlsPaths,
    defaultSni: "tracer",
    alpn: tracer?.kind === "lightstep",
  });
  return {
    zipkin: tracer?.kind === "zipkin" ? addressText(tracer.address) : undefined,
    lightstep: tracer?.kind === "lightstep" ? addressText(tracer.address) : undefined,
    lightstepToken: tracer?.kind === "lightstep" ? tracer.accessToken : undefined,
    datadog: tracer?.kind === "datadog" ? addressText(tracer.address) : undefined,
    tracing_tls: socket === undefined ? undefined : marshalGoJson(socket),
    ...(stackdriver && {
      stackdriver: true,
      stackdriverProjectID: gcpProject,
      stackdriverDebug: stackdriver.debug ?? false,
      stackdriverMaxAnnotations: exactInteger(stackdriver.maxNumberOfAnnotations ?? "200"),
      stackdriverMaxAttributes: exactInteger(stackdriver.maxNumberOfAttributes ?? "200"),
      stackdriverMaxEvents: exactInteger(stackdriver.maxNumberOfMessageEvents ?? "200"),
    }),
  };
}

function serviceParameters(name: string, remote: RemoteServiceValues | undefined, { tlsPaths }: BootstrapValues) {
  if (remote === undefined) return {};
  const { address, service } = remote;
  const socket = upstreamTlsSocket({ settings: service.tlsSettings, paths: tlsPaths, defaultSni: name, alpn: true });
  const { probes, time, interval } = service.tcpKeepalive ?? {};
  const keepalive = {
    keepalive_probes: probes || undefined,
    keepalive_time: wholeSeconds(time) || undefined,
    keepalive_interval: wholeSeconds(interval) || undefined,
  };
  return {
    [`${name}_address`]: addressText(address),
    [`${name}_tls`]: socket === undefined ? undefined : marshalGoJson(socket),
    [`${name}_tcp_keepalive`]:
      service.tcpKeepalive === undefined ? undefined : JSON.stringify({ tcp_keepalive: keepalive }),
  };
}

function statsParameters({ stats }: BootstrapValues) {
  return {
    extraStatTags: stats.extraTags,
    inclusionPrefix: stats.prefixes,
    inclusionSuffix: stats.suffixes,
    inclusionRegexps: stats.regexes,
    histogram_buckets:
      stats.histogramBuckets.length > 0
        ? stats.histogramBuckets.map(({ prefix, buckets }) => ({
            Match: { Prefix: prefix },
            Buckets: buckets,
            match: { prefix },
            buckets,
          }))
        : undefined,
    stats_flush_interval: stats.flushInterval,
    stats_eviction_interval: stats.evictionInterval,
  };
}

function addressText(address: SocketAddress | undefined): string | undefined {
  return address && `{"address": ${JSON.stringify(address.address)}, "port_value": ${address.port_value}}`;
}

/** The node's metadata as templates know it: `.metadata.Labels`. */
function goMetadata(typed: JsonObject): GoStruct {
  const fields = new Map<string, unknown>();
  for (const [key, type] of Object.entries(METADATA_TYPES)) {
    const value = typed[key];
    fields.set(goKey(key), value === undefined ? ZEROS[type] : goValue(type, value));
  }
  return new GoStruct("*model.NodeMetadata", fields, typed, toStrictJson(typed));
}

function goValue(type: string, value: unknown): unknown {
  if (type === "flag") return value === "true";
  if (type === "list") return String(value).split(",");
  if (type === "pod-ports") return JSON.parse(String(value));
  return value;
}

function goKey(key: string): string {
  const words = key
    .split("_")
    .map((word) => (ACRONYMS.has(word) ? word : word.slice(0, 1) + word.slice(1).toLowerCase()));
  return NAMES[key] ?? words.join("");
}
