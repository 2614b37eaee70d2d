import { CloseStack } from "../src/base/close-stack.ts";
import { buildHttpFilters } from "../src/envoy-config/listeners/http-manager.ts";
import { localWorkloadFilter } from "../src/envoy-config/telemetry/local-workload.ts";
import { endpointMetadata, peerHeaders, serviceMetadata } from "../src/envoy-config/telemetry/metric-tags.ts";
import { inboundMetrics, messageFilters, outboundMetrics } from "../src/envoy-config/telemetry/metrics.ts";
import type { AccessLog } from "../src/protobuf/gen/envoy/config/accesslog/v3.ts";
import { createTestCa } from "../test/support/certs/test-ca.ts";
import { createTestMesh, testNode } from "../test/support/mesh-model/create-test-mesh.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { startHttpServer } from "../test/support/net/http-server.ts";
import type { Bench } from "./bench.ts";
import { startCountedEnvoy } from "./telemetry/counted-envoy.ts";

const MESH = "defaultProviders: {metrics: [prometheus]}\nextensionProviders: [{name: prometheus, prometheus: {}}]";
const LABELS = { app: "web", version: "v1", "service.istio.io/workload-name": "web-v1" };
const METADATA = { WORKLOAD_NAME: "web-v1", LABELS, CLUSTER_ID: "Kubernetes", NAMESPACE: "default" };
const SERVICE = { host: "web.default.svc.cluster.local", name: "web", namespace: "default" };
const WORKLOAD = {
  workload: "web-v1",
  namespace: "default",
  app: "web",
  version: "v1",
  canonicalService: "web",
  canonicalRevision: "v1",
  cluster: "Kubernetes",
};
/** As long as the text that is formatted in their place. */
const CONSTANT = "labels=".padEnd(400, "constant;");

/** What the two listeners of a way have. */
interface Way {
  readonly name: string;
  readonly hasHeader?: boolean;
  readonly source?: readonly AccessLog[];
  readonly server?: readonly AccessLog[];
  /** Of logs that are left out. */
  readonly countsMessages?: boolean;
}

function ways(): readonly [Way, ...Way[]] {
  const view = createTestMesh("", MESH)
    .take()
    .snapshot.view(testNode({ labels: LABELS, metadata: METADATA }));
  const [source, server] = [outboundMetrics(view.outbound).logs.http, inboundMetrics(view).logs(SERVICE).http];
  const all = { hasHeader: true, countsMessages: true };
  const withText = (text: string) => ({ source: withTag(source, text), server: withTag(server, text) });
  return [
    { name: "without metrics" },
    { name: "without metrics, a second time" },
    { name: "x-istio-peer alone", hasHeader: true },
    { name: "the filter for gRPC's messages alone", countsMessages: true },
    { name: "metrics", ...all, source, server },
    { name: "metrics of callers alone", ...all, source },
    { name: "metrics of servers alone", ...all, server },
    { name: "no log", ...all },
    { name: "four metrics with one letter as labels", ...all, ...withText("a") },
    { name: "four metrics with a constant text as labels", ...all, ...withText(CONSTANT) },
    { name: "the counter of requests alone", ...all, source: counterOf(source), server: counterOf(server) },
  ];
}

/** By the counters of the log for other requests than those of gRPC. */
function withTag(logs: readonly AccessLog[], valueFormat: string): readonly AccessLog[] {
  const text = JSON.stringify(logs.slice(0, 1), (key, value) =>
    key === "valueFormat" && isLabels(value) ? valueFormat : value,
  );
  return JSON.parse(text) as AccessLog[];
}

function isLabels(value: unknown): boolean {
  return typeof value === "string" && value.startsWith("reporter=");
}

function counterOf(logs: readonly AccessLog[]): readonly AccessLog[] {
  return JSON.parse(
    JSON.stringify(logs.slice(0, 1), (key, value) => (key === "histograms" ? [] : value)),
  ) as AccessLog[];
}

/**
 * What each part of metrics costs: instructions of the worker of one stock Envoy that a request passes twice, as at its caller and as at its server, with mutual TLS
 * between. Unlike times they are the same on every machine and in every run to a fifth of a per cent. Needs valgrind.
 */
const telemetryInstructions: Bench = {
  name: "telemetry-instructions",
  async run({ note }) {
    await using opened = new CloseStack();
    const application = opened.add(await startHttpServer((_, response) => response.end("hello")));
    const all = ways();
    const ports = await freePorts(2 * all.length);
    const ca = await createTestCa();
    const tls = toTls(ca.rootPem, await ca.pair(["spiffe://cluster.local/ns/default/sa/web"]));
    const pairs = all.map((way, at) => ({ way, near: ports[2 * at] ?? 0, far: ports[2 * at + 1] ?? 0 }));
    const listeners = pairs.flatMap(({ way, near, far }) => [
      listener(near, manager(`to-${far}`, way, way.source, way.hasHeader), {
        listener_filters: way.hasHeader === true ? [localWorkloadFilter()] : [],
      }),
      listener(far, manager("application", way, way.server), { transport_socket: tls.server }),
    ]);
    const clusters = [
      cluster("application", application.port),
      ...pairs.map(({ far }) => cluster(`to-${far}`, far, { transport_socket: tls.client })),
    ];
    const bootstrap = {
      node: { id: "t", cluster: "t", metadata: METADATA },
      stats_flush_interval: "299s",
      static_resources: { listeners, clusters },
    };
    const envoy = opened.add(await startCountedEnvoy(bootstrap));
    const rows: { readonly name: string; readonly value: number }[] = [];
    for (const { way, near } of pairs) {
      rows.push({ name: way.name, value: await envoy.instructionsPerRequest(near) });
      note(`${way.name}: ${rows.at(-1)?.value.toFixed(0)}`);
    }
    const [base] = rows;
    return rows.map(({ name, value }, at) => ({
      name,
      value,
      unit: "instructions per request",
      ...(base !== undefined && at > 0 && { ratio: { to: base.name, value: value / base.value } }),
    }));
  },
};

export default telemetryInstructions;

const extension = (name: string) => ({ "@type": `type.googleapis.com/envoy.extensions.${name}` });
const at = (port_value: number) => ({ address: { socket_address: { address: "127.0.0.1", port_value } } });

interface ListenerParts {
  readonly transport_socket?: object;
  readonly listener_filters?: readonly object[];
}

function listener(port: number, http: object, { transport_socket, ...more }: ListenerParts) {
  return {
    name: `of-${port}`,
    ...at(port),
    ...more,
    filter_chains: [{ filters: [http], ...(transport_socket && { transport_socket }) }],
  };
}

function manager(target: string, { countsMessages = false }: Way, logs: readonly AccessLog[] = [], addsHeader = false) {
  const filters = buildHttpFilters({});
  const counting = countsMessages ? messageFilters(COUNTED) : [];
  return {
    name: "http",
    typed_config: {
      ...extension("filters.network.http_connection_manager.v3.HttpConnectionManager"),
      stat_prefix: target,
      normalize_path: true,
      use_remote_address: false,
      stream_idle_timeout: "0s",
      http_filters: [...filters.slice(0, -1), ...counting, ...filters.slice(-1)],
      route_config: {
        virtual_hosts: [
          {
            name: "all",
            domains: ["*"],
            routes: [{ match: { prefix: "/" }, route: { cluster: target, timeout: "0s" } }],
            ...(addsHeader && { request_headers_to_add: peerHeaders() }),
          },
        ],
      },
      access_log: logs,
    },
  };
}

/** The log whose being there asks for the filter. */
const COUNTED: readonly AccessLog[] = [{ name: "envoy.access_loggers.stats.messages" }];

function cluster(name: string, port: number, more: object = {}) {
  const described = { metadata: { filter_metadata: endpointMetadata(WORKLOAD, SERVICE) } };
  const endpoints = [{ lb_endpoints: [{ endpoint: at(port), ...described }] }];
  return {
    name,
    type: "STATIC",
    metadata: { filter_metadata: serviceMetadata(SERVICE) },
    load_assignment: { cluster_name: name, endpoints },
    ...more,
  };
}

function toTls(rootPem: string, { cert, key }: { readonly cert: string; readonly key: string }) {
  const inline = (inline_string: string) => ({ inline_string });
  const common = (...alpn_protocols: readonly string[]) => ({
    alpn_protocols,
    tls_certificates: [{ certificate_chain: inline(cert), private_key: inline(key) }],
    validation_context: { trusted_ca: inline(rootPem) },
  });
  return {
    client: {
      name: "tls",
      typed_config: {
        ...extension("transport_sockets.tls.v3.UpstreamTlsContext"),
        sni: "web",
        common_tls_context: common("istio-http/1.1", "istio", "http/1.1"),
      },
    },
    server: {
      name: "tls",
      typed_config: {
        ...extension("transport_sockets.tls.v3.DownstreamTlsContext"),
        require_client_certificate: true,
        common_tls_context: common("h2", "http/1.1"),
      },
    },
  };
}
