import type { BootstrapValues } from "./bootstrap-values.ts";
import type { JsonObject } from "./json.ts";
import { downstreamTlsSocket } from "./tls-context.ts";
import { extension, typeUrl } from "./type-urls.ts";

interface ListenerSpec {
  readonly port: number;
  readonly statPrefix: string;
  /** Path prefix to cluster, in order. */
  readonly routes: readonly (readonly [prefix: string, cluster: string])[];
  readonly localhost: boolean;
  readonly secure: boolean;
  readonly compressed: boolean;
  readonly listenerFilters: readonly JsonObject[];
}

const COMPRESSED_TYPES = [
  "text/plain",
  "application/vnd.google.protobuf",
  "application/openmetrics-text",
  "application/openmetrics-protobuf",
];

/** static_resources.listeners: metrics, the secure metrics when asked for, readiness. */
export function buildListeners(values: BootstrapValues): readonly JsonObject[] {
  const { inputs, config, generation } = values;
  const { agent, features } = inputs;
  const rules = generation.document;
  const limited = rules.listeners === "limited";
  const localhost = values.metricsLocalhostOnly;
  const base = { localhost, secure: false, compressed: false, listenerFilters: [] };
  const secure = { ...base, secure: true, listenerFilters: [TLS_INSPECTOR] };
  const specs: ListenerSpec[] = [
    {
      ...base,
      port: rules.fixedPorts?.prometheus ?? agent.envoyPrometheusPort,
      statPrefix: "stats",
      routes: [["/stats/prometheus", "prometheus_stats"]],
      compressed: rules.compressors && config.statsCompression !== false,
    },
  ];
  if (limited && agent.envoySecureMetricsPort !== 0) {
    const routes = [["/stats/prometheus", "prometheus_stats"]] as const;
    specs.push({ ...secure, port: agent.envoySecureMetricsPort, statPrefix: "secure_stats", routes });
  }
  if (limited && agent.envoySecureMergedMetricsPort !== 0) {
    const routes = [
      ["/stats/prometheus", "agent"],
      ["/metrics", "agent"],
    ] as const;
    specs.push({ ...secure, port: agent.envoySecureMergedMetricsPort, statPrefix: "secure_merged_stats", routes });
  }
  specs.push({
    ...base,
    localhost: false,
    port: rules.fixedPorts?.status ?? agent.envoyStatusPort,
    statPrefix: "agent",
    routes: [["/healthz/ready", "agent"]],
    listenerFilters: limited && features.statusPortProxyProtocol ? [PROXY_PROTOCOL] : [],
  });
  return specs.map((spec) => listener(spec, values));
}

const TLS_INSPECTOR = extension(
  "envoy.filters.listener.tls_inspector",
  "envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector",
);
const PROXY_PROTOCOL = extension(
  "envoy.listener.proxy_protocol",
  "envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol",
  { allow_requests_without_proxy_protocol: true },
);

function listener(spec: ListenerSpec, { network, generation }: BootstrapValues): JsonObject {
  const rules = generation.document;
  const address = spec.localhost ? network.localhost : network.wildcard;
  const additional = spec.localhost ? network.additional?.localhost : network.additional?.wildcard;
  const at = (host: string) => ({ socket_address: { protocol: "TCP", address: host, port_value: spec.port } });
  return {
    ...(rules.listeners === "limited" && { name: `${address}_${spec.port}` }),
    address: at(address),
    ...(additional !== undefined && { additionalAddresses: [{ address: at(additional) }] }),
    ...(rules.listeners === "limited" && { ignore_global_conn_limit: true, bypass_overload_manager: true }),
    ...(spec.listenerFilters.length > 0 && { listener_filters: spec.listenerFilters }),
    filter_chains: [
      {
        ...(spec.secure && {
          filter_chain_match: { transport_protocol: "tls" },
          transport_socket: downstreamTlsSocket(),
        }),
        filters: [connectionManager(spec, rules.extensionNames === "old")],
      },
    ],
  };
}

function connectionManager(spec: ListenerSpec, old: boolean): JsonObject {
  const routes = spec.routes.map(([prefix, cluster]) => ({ match: { prefix }, route: { cluster } }));
  const router = extension(
    old ? "envoy.router" : "envoy.filters.http.router",
    "envoy.extensions.filters.http.router.v3.Router",
  );
  return extension(
    old ? "envoy.http_connection_manager" : "envoy.filters.network.http_connection_manager",
    "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    {
      codec_type: "AUTO",
      stat_prefix: spec.statPrefix,
      route_config: { virtual_hosts: [{ name: "backend", domains: ["*"], routes }] },
      http_filters: spec.compressed ? [compressor("Brotli"), compressor("Zstd"), compressor("Gzip"), router] : [router],
    },
  );
}

function compressor(library: "Brotli" | "Zstd" | "Gzip"): JsonObject {
  const name = library.toLowerCase();
  return extension(`envoy.filters.http.compressor.${name}`, "envoy.extensions.filters.http.compressor.v3.Compressor", {
    compressor_library: {
      name: `stats_${name}`,
      typed_config: { "@type": typeUrl(`envoy.extensions.compression.${name}.compressor.v3.${library}`) },
    },
    response_direction_config: { common_config: { content_type: COMPRESSED_TYPES } },
  });
}
