import type { TcpKeepalive } from "../../istio-api/proxy-config/proxy-config.ts";
import { wholeSeconds } from "../../protobuf/proto-duration.ts";
import type { BootstrapValues, RemoteServiceValues, Tracer } from "./bootstrap-values.ts";
import { assigned, fixed, http2, named, resolved } from "./cluster-fields.ts";
import type { DocumentRules } from "./generations.ts";
import type { JsonObject } from "./json.ts";
import { upstreamTlsSocket } from "./tls-context.ts";
import { extension } from "./type-urls.ts";
import { xdsCluster } from "./xds-cluster.ts";

const SPIFFE_SOCKETS = "./var/run/secrets/workload-spiffe-uds/";
const FILES_SOCKET = "./var/run/secrets/credential-uds/files-socket";

/** static_resources.clusters, in the order the reference has them. */
export function buildClusters(values: BootstrapValues): readonly JsonObject[] {
  const { config, inputs, network, node, generation } = values;
  const rules = generation.document;
  const local = (port: number) => ({
    socket_address: { protocol: "TCP", address: network.localhost, port_value: port },
  });
  const sdsPath = rules.sdsPipe ?? SPIFFE_SOCKETS + inputs.agent.workloadIdentitySocketFile;
  const agentPort = rules.fixedPorts?.agent ?? config.statusPort ?? 0;
  const clusters: (JsonObject | undefined)[] = [
    {
      ...named("prometheus_stats", rules),
      ...fixed("0.250s"),
      ...assigned("prometheus_stats", local(config.proxyAdminPort ?? 0)),
    },
    { ...named("agent", rules), ...fixed("0.250s"), ...assigned(rules.agentAssignmentName, local(agentPort)) },
    pipeCluster("sds-grpc", sdsPath, rules),
    rules.filesSds && node.raw.has("file-credential") ? pipeCluster("sds-files-grpc", FILES_SOCKET, rules) : undefined,
    xdsCluster(values),
    values.tracer && tracerCluster(values.tracer, values),
    values.metricsService && serviceCluster("envoy_metrics_service", values.metricsService, values),
    values.accessLogService && serviceCluster("envoy_accesslog_service", values.accessLogService, values),
    rules.selfDiscovery && values.selfDiscovery ? localCluster(rules) : undefined,
  ];
  return clusters.filter((cluster) => cluster !== undefined);
}

function pipeCluster(name: string, path: string, rules: DocumentRules): JsonObject {
  return { ...named(name, rules), ...http2(rules), ...fixed("1s"), ...assigned(name, { pipe: { path } }) };
}

function tracerCluster(tracer: Tracer, values: BootstrapValues): JsonObject {
  const rules = values.generation.document;
  const name = tracer.kind === "datadog" ? "datadog_agent" : tracer.kind;
  const socket = upstreamTlsSocket({
    settings: values.config.tracing?.tlsSettings,
    paths: values.tlsPaths,
    defaultSni: "tracer",
    alpn: tracer.kind === "lightstep",
  });
  return {
    ...named(name, rules),
    ...resolved(values),
    ...(tracer.kind === "zipkin" && rules.tracerDnsRefresh && { dns_refresh_rate: "30s" }),
    ...(tracer.kind === "lightstep" && http2(rules)),
    ...(socket && { transport_socket: socket }),
    ...assigned(name, { socket_address: tracer.address }),
  };
}

function serviceCluster(name: string, { address, service }: RemoteServiceValues, values: BootstrapValues): JsonObject {
  const rules = values.generation.document;
  const socket = upstreamTlsSocket({
    settings: service.tlsSettings,
    paths: values.tlsPaths,
    defaultSni: name,
    alpn: true,
  });
  return {
    ...named(name, rules),
    ...resolved(values),
    ...(socket && { transport_socket: socket }),
    ...(service.tcpKeepalive && { upstream_connection_options: { tcp_keepalive: keepalive(service.tcpKeepalive) } }),
    ...http2(rules),
    ...assigned(name, { socket_address: address }),
  };
}

function keepalive({ probes = 0, time, interval }: TcpKeepalive): JsonObject {
  const [seconds, gap] = [wholeSeconds(time), wholeSeconds(interval)];
  return {
    ...(probes > 0 && { keepalive_probes: probes }),
    ...(seconds > 0 && { keepalive_time: seconds }),
    ...(gap > 0 && { keepalive_interval: gap }),
  };
}

function localCluster(rules: DocumentRules): JsonObject {
  const name = "local_cluster";
  const policy = extension(
    "envoy.load_balancing_policies.least_request",
    "envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest",
    { locality_lb_config: { zone_aware_lb_config: { min_cluster_size: "1" } } },
  );
  return {
    ...named(name, rules),
    type: "EDS",
    connect_timeout: "1s",
    load_balancing_policy: { policies: [{ typed_extension_config: policy }] },
    eds_cluster_config: { eds_config: { ads: {}, resource_api_version: "V3" }, service_name: name },
  };
}
