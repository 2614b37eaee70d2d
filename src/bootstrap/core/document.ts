import { compareText } from "../../base/go-text.ts";
import type { BootstrapValues } from "./bootstrap-values.ts";
import { buildClusters } from "./clusters.ts";
import type { JsonObject } from "./json.ts";
import { sortKeys } from "./json.ts";
import { buildListeners } from "./listeners.ts";
import { buildStatsConfig, buildStatsSinks } from "./stats-document.ts";
import { buildTracing } from "./tracing.ts";
import { extension, typeUrl } from "./type-urls.ts";
import { xdsGrpcService } from "./xds-cluster.ts";

const TEXT_LOG = "%Y-%m-%dT%T.%fZ\t%l\tenvoy %n %g:%#\t%v\tthread=%t";
const JSON_LOG = {
  time: "%Y-%m-%dT%T.%fZ",
  level: "%l",
  scope: "envoy %n",
  msg: "%j",
  caller: "%g:%#",
  thread: "%t",
};

/** The whole Envoy v3 bootstrap; members in the reference's order, so that two documents can be compared by eye. */
export function buildDocument(values: BootstrapValues): JsonObject {
  const { inputs, node, stats, generation } = values;
  const rules = generation.document;
  const extensions = bootstrapExtensions(values);
  const sinks = buildStatsSinks(values);
  const tracing = buildTracing(values);
  const clusterManager = buildClusterManager(values);
  return {
    ...(rules.applicationLog && {
      application_log_config: {
        log_format: inputs.agent.logAsJson ? { json_format: JSON_LOG } : { text_format: TEXT_LOG },
      },
    }),
    node: { id: node.id, cluster: node.cluster, locality: node.locality, metadata: node.metadata },
    layered_runtime: {
      layers: [
        { name: rules.runtimeLayer, static_layer: sortKeys(values.runtime, compareText) },
        { name: "admin", admin_layer: {} },
      ],
    },
    ...(extensions.length > 0 && { bootstrap_extensions: extensions }),
    ...(stats.flushInterval && { stats_flush_interval: stats.flushInterval }),
    ...(stats.evictionInterval && { stats_eviction_interval: stats.evictionInterval }),
    stats_config: buildStatsConfig(values),
    admin: buildAdmin(values),
    dynamic_resources: buildDynamicResources(values),
    static_resources: { clusters: buildClusters(values), listeners: buildListeners(values) },
    ...(rules.overloadManager && { overload_manager: overloadManager(values) }),
    ...(tracing && { tracing }),
    ...(sinks.length > 0 && { stats_sinks: sinks }),
    ...(clusterManager && { cluster_manager: clusterManager }),
    ...(rules.deferredCreation && { deferred_stat_options: { enable_deferred_creation_stats: true } }),
  };
}

function bootstrapExtensions({ generation, metadataDiscovery }: BootstrapValues): readonly JsonObject[] {
  const typedStruct = (name: string, type: string, value: JsonObject) =>
    extension(name, "udpa.type.v1.TypedStruct", { type_url: typeUrl(type), value });
  const extensions: JsonObject[] = [];
  if (metadataDiscovery) {
    extensions.push(
      typedStruct("metadata_discovery", "istio.workload.BootstrapExtension", { config_source: { ads: {} } }),
    );
  }
  if (generation.document.internalListener) {
    const type = "envoy.extensions.bootstrap.internal_listener.v3.InternalListener";
    extensions.push(typedStruct("envoy.bootstrap.internal_listener", type, { buffer_size_kb: 64 }));
  }
  return extensions;
}

function buildAdmin({ config, generation, network }: BootstrapValues): JsonObject {
  const { adminAccessLog, adminProfile } = generation.document;
  const file = "envoy.extensions.access_loggers.file.v3.FileAccessLog";
  return {
    ...(adminAccessLog === "typed"
      ? { access_log: [extension("envoy.access_loggers.file", file, { path: "/dev/null" })] }
      : { access_log_path: "/dev/null" }),
    profile_path: `${adminProfile === "data" ? "/var/lib/istio/data" : (config.configPath ?? "")}/envoy.prof`,
    address: { socket_address: { address: network.localhost, port_value: config.proxyAdminPort ?? 0 } },
  };
}

function buildDynamicResources(values: BootstrapValues): JsonObject {
  const rules = values.generation.document;
  const source = {
    ads: {},
    ...(rules.initialFetchTimeout && { initial_fetch_timeout: "0s" }),
    resource_api_version: "V3",
  };
  return {
    lds_config: source,
    cds_config: source,
    ads_config: {
      api_type: values.xdsType,
      ...(rules.nodeOnFirstMessageOnly && { set_node_on_first_message_only: true }),
      transport_api_version: "V3",
      grpc_services: [xdsGrpcService(values)],
    },
  };
}

function overloadManager({ globalDownstreamLimit }: BootstrapValues): JsonObject {
  const type = "envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig";
  return {
    resource_monitors: [
      extension("envoy.resource_monitors.global_downstream_max_connections", type, {
        max_active_downstream_connections: globalDownstreamLimit,
      }),
    ],
  };
}

function buildClusterManager({
  inputs,
  generation,
  selfDiscovery,
  loadStatsConfig,
}: BootstrapValues): JsonObject | undefined {
  const rules = generation.document;
  const members = {
    ...(rules.selfDiscovery && selfDiscovery && { local_cluster_name: "local_cluster" }),
    ...(inputs.agent.outlierLogPath && { outlier_detection: { event_log_path: inputs.agent.outlierLogPath } }),
    ...(loadStatsConfig !== undefined && { load_stats_config: loadStatsConfig }),
  };
  if (Object.keys(members).length === 0) return undefined;
  return { ...members, ...(rules.deferredCreation && { enable_deferred_cluster_creation: true }) };
}
