import { describe, expect, test } from "vitest";
import type { InputOverrides } from "../../../test/support/bootstrap/bootstrap-inputs.ts";
import { sidecarInputs } from "../../../test/support/bootstrap/bootstrap-inputs.ts";
import { generateBootstrap } from "./generate-bootstrap.ts";
import { buildNodeDescriptor } from "./node-descriptor.ts";

interface Doc {
  readonly [member: string]: unknown;
  readonly static_resources: { readonly clusters: readonly Named[]; readonly listeners: readonly Named[] };
  readonly layered_runtime: { readonly layers: readonly { readonly static_layer?: Record<string, unknown> }[] };
}
type Named = { readonly name: string } & Record<string, unknown>;

const generate = (overrides: InputOverrides = {}) => {
  const inputs = sidecarInputs(overrides);
  const { text, ...rest } = generateBootstrap(inputs, buildNodeDescriptor(inputs));
  return { document: JSON.parse(text) as Doc, ...rest };
};
const doc = (overrides: InputOverrides = {}) => generate(overrides).document;
const clusterNames = (overrides: InputOverrides = {}) =>
  doc(overrides).static_resources.clusters.map(({ name }) => name);
const cluster = (name: string, overrides: InputOverrides) =>
  doc(overrides).static_resources.clusters.find((item) => item.name === name);
const layer = (overrides: InputOverrides = {}) => doc(overrides).layered_runtime.layers[0]?.static_layer ?? {};
const address = { address: "a:1" };

test("the members stand in the reference's order", () => {
  const full = {
    proxyConfig: { tracing: { zipkin: address }, statsdUdpAddress: "1.1.1.1:2" },
    agent: { outlierLogPath: "/o" },
  };
  expect(Object.keys(doc(full))).toEqual([
    "application_log_config",
    "node",
    "layered_runtime",
    "bootstrap_extensions",
    "stats_config",
    "admin",
    "dynamic_resources",
    "static_resources",
    "overload_manager",
    "tracing",
    "stats_sinks",
    "cluster_manager",
    "deferred_stat_options",
  ]);
});

test("nothing to say leaves members out", () => {
  for (const member of [
    "stats_flush_interval",
    "stats_eviction_interval",
    "tracing",
    "stats_sinks",
    "cluster_manager",
  ]) {
    expect(doc()).not.toHaveProperty(member);
  }
});

describe("clusters", () => {
  test("in order, with every option that adds one", () => {
    const all = {
      env: { ISTIO_META_ENABLE_SELF_DISCOVERY: "true" },
      agent: { customCredentialsFileExists: true },
      proxyConfig: { tracing: { datadog: address }, envoyMetricsService: address, envoyAccessLogService: address },
    };
    expect(clusterNames(all)).toEqual([
      "prometheus_stats",
      "agent",
      "sds-grpc",
      "sds-files-grpc",
      "xds-grpc",
      "datadog_agent",
      "envoy_metrics_service",
      "envoy_accesslog_service",
      "local_cluster",
    ]);
  });

  test.each([
    { what: "an empty tracer address", tracing: { zipkin: { address: "" } } },
    { what: "OpenCensus", tracing: { openCensusAgent: address } },
    { what: "an empty tracing section", tracing: {} },
  ])("$what adds nothing", ({ tracing }) => {
    expect(clusterNames({ proxyConfig: { tracing } })).toEqual(clusterNames());
    expect(doc({ proxyConfig: { tracing } })).not.toHaveProperty("tracing");
  });

  test("configPath is used as it is for the xDS pipe, and the socket file for SDS", () => {
    const text = JSON.stringify(doc({ agent: { workloadIdentitySocketFile: "s" } }));
    expect(text).toContain('{"pipe":{"path":"./etc/istio/proxy/XDS"}}');
    expect(text).toContain('{"pipe":{"path":"./var/run/secrets/workload-spiffe-uds/s"}}');
  });

  test("keepalive values are bare numbers; unset ones leave an empty message", () => {
    const metrics = (tcpKeepalive: object) =>
      cluster("envoy_metrics_service", { proxyConfig: { envoyMetricsService: { ...address, tcpKeepalive } } });
    expect(metrics({ probes: 3, time: "10s", interval: "1.5s" })?.upstream_connection_options).toEqual({
      tcp_keepalive: { keepalive_probes: 3, keepalive_time: 10, keepalive_interval: 1 },
    });
    expect(metrics({})?.upstream_connection_options).toEqual({ tcp_keepalive: {} });
  });

  test("the deprecated metrics address is a service of its own", () => {
    expect(clusterNames({ proxyConfig: { envoyMetricsServiceAddress: "a:1" } })).toContain("envoy_metrics_service");
  });

  test.each([
    {
      proxyConfig: { discoveryAddress: "bad" },
      code: "invalid-address",
      message: 'unable to parse pilot_grpc_address address "bad": address bad: missing port in address',
    },
    {
      proxyConfig: { tracing: { zipkin: { address: "x" } } },
      code: "invalid-address",
      message: /^unable to parse zipkin address "x"/,
    },
    {
      proxyConfig: { tracing: { stackdriver: {} } },
      code: "missing-gcp-project",
      message: "unable to process Stackdriver tracer: missing GCP Project",
    },
  ])("$proxyConfig stops with $code", ({ proxyConfig, code, message }) => {
    expect(() => doc({ proxyConfig })).toThrow(expect.objectContaining({ code }));
    expect(() => doc({ proxyConfig })).toThrow(message);
  });

  test("no discovery address is not a mistake", () => {
    expect(clusterNames({ proxyConfig: { discoveryAddress: "" } })).toContain("xds-grpc");
  });
});

describe("listeners", () => {
  const listeners = (overrides: InputOverrides = {}) => doc(overrides).static_resources.listeners;
  const secure = { envoySecureMetricsPort: 15091, envoySecureMergedMetricsPort: 15092 };

  test("metrics, secure metrics, readiness", () => {
    expect(listeners({ agent: secure }).map(({ name }) => name)).toEqual([
      "0.0.0.0_15090",
      "0.0.0.0_15091",
      "0.0.0.0_15092",
      "0.0.0.0_15021",
    ]);
  });

  test("metrics for localhost only, secure ones included; readiness stays reachable", () => {
    const names = listeners({
      agent: secure,
      proxyConfig: { proxyMetadata: { METRICS_LOCALHOST_ACCESS_ONLY: "true" } },
    });
    expect(names.map(({ name }) => name)).toEqual([
      "127.0.0.1_15090",
      "127.0.0.1_15091",
      "127.0.0.1_15092",
      "0.0.0.0_15021",
    ]);
  });

  test("in dual stack every listener has the other family's address too", () => {
    const dual = listeners({ agent: secure, nodeIps: ["10.0.0.1", "2001:db8::1"], features: { dualStack: true } });
    expect(dual.map((item) => JSON.stringify(item.additionalAddresses))).toEqual(
      [15090, 15091, 15092, 15021].map(
        (port) => `[{"address":{"socket_address":{"protocol":"TCP","address":"::","port_value":${port}}}}]`,
      ),
    );
  });

  test("proxy protocol is for the readiness port alone", () => {
    const filters = listeners({ features: { statusPortProxyProtocol: true } }).map((item) => item.listener_filters);
    expect(filters[0]).toBeUndefined();
    expect(filters[1]).toMatchObject([{ typed_config: { allow_requests_without_proxy_protocol: true } }]);
  });

  test("compression can be switched off", () => {
    expect(JSON.stringify(listeners())).toContain("compressor.brotli");
    expect(JSON.stringify(listeners({ proxyConfig: { statsCompression: false } }))).not.toContain("compressor");
  });
});

describe("runtime layer", () => {
  test("ProxyConfig's values: empty removes, booleans are booleans, the rest stays text", () => {
    const runtimeValues = { "re2.max_program_size.error_level": "", a: "true", b: "false", c: "5" };
    const values = layer({ proxyConfig: { runtimeValues } });
    expect(values).toMatchObject({ a: true, b: false, c: "5" });
    expect(values).not.toHaveProperty("re2.max_program_size.error_level");
  });

  test("compliance and fragment switches", () => {
    expect(layer({ agent: { compliancePolicy: "fips-140-2" } })).toHaveProperty(
      ["envoy.reloadable_features.google_grpc_disable_tls_13"],
      true,
    );
    expect(layer({ agent: { compliancePolicy: "fips-140-3" } })).not.toHaveProperty([
      "envoy.reloadable_features.google_grpc_disable_tls_13",
    ]);
    expect(layer({ features: { stripFragmentFromPath: false } })).toHaveProperty(
      ["envoy.reloadable_features.http_strip_fragment_from_path_unsafe_if_disabled"],
      "false",
    );
  });
});

describe("global connection limit", () => {
  const KEY = "ISTIO_META_GLOBAL_DOWNSTREAM_MAX_CONNECTIONS";
  const RUNTIME = "overload.global_downstream_max_connections";
  test.each([
    { proxyConfig: {}, limit: 2147483647, warnings: 0 },
    {
      proxyConfig: { connectionSettings: { globalDownstreamConnectionLimit: 7 }, proxyMetadata: { [KEY]: "8" } },
      limit: 7,
      warnings: 0,
    },
    { proxyConfig: { proxyMetadata: { [KEY]: "8" }, runtimeValues: { [RUNTIME]: "9" } }, limit: 8, warnings: 0 },
    { proxyConfig: { runtimeValues: { [RUNTIME]: "9" } }, limit: 9, warnings: 0 },
    { proxyConfig: { proxyMetadata: { [KEY]: "0" } }, limit: 2147483647, warnings: 1 },
    {
      proxyConfig: { proxyMetadata: { [KEY]: "-5" }, runtimeValues: { [RUNTIME]: "x" } },
      limit: 2147483647,
      warnings: 2,
    },
  ])("$proxyConfig gives $limit", ({ proxyConfig, limit, warnings }) => {
    const got = generate({ proxyConfig });
    expect(JSON.stringify(got.document.overload_manager)).toContain(`"max_active_downstream_connections":${limit}`);
    expect(got.warnings).toHaveLength(warnings);
  });
});

describe("discovery", () => {
  const apiType = (overrides: InputOverrides) =>
    (doc(overrides).dynamic_resources as { ads_config: { api_type: string } }).ads_config.api_type;

  test.each([
    { overrides: {}, type: "DELTA_GRPC" },
    { overrides: { features: { deltaXds: false } }, type: "GRPC" },
    { overrides: { nodeId: "waypoint~1.1.1.1~a.b~c", features: { deltaXds: false } }, type: "DELTA_GRPC" },
  ])("$overrides uses $type", ({ overrides, type }) => {
    expect(apiType(overrides)).toBe(type);
  });

  test("metadata discovery adds an extension and a prefix, for waypoints always", () => {
    for (const overrides of [{ agent: { metadataDiscovery: true } }, { nodeId: "waypoint~1.1.1.1~a.b~c" }]) {
      const text = JSON.stringify(doc(overrides));
      expect(text).toContain("istio.workload.BootstrapExtension");
      expect(text).toContain('{"prefix":"reporter="},{"prefix":"workload_discovery"}');
    }
  });

  test("metadata discovery is switched off with a warning where discovery is not incremental", () => {
    const { document, warnings } = generate({ agent: { metadataDiscovery: true }, features: { deltaXds: false } });
    expect(JSON.stringify(document)).not.toContain("istio.workload.BootstrapExtension");
    expect(warnings).toEqual(["disabling metadata discovery; not supported on SotW XDS"]);
  });
});

test("load reports are parsed into the document, or refused by name", () => {
  const env = { ISTIO_META_LOAD_STATS_CONFIG_JSON: '{"api_type":"GRPC"}' };
  expect(doc({ env }).cluster_manager).toEqual({
    load_stats_config: { api_type: "GRPC" },
    enable_deferred_cluster_creation: true,
  });
  const large = sidecarInputs({ env: { ISTIO_META_LOAD_STATS_CONFIG_JSON: '{"x":9007199254740993}' } });
  expect(generateBootstrap(large, buildNodeDescriptor(large)).text).toContain(
    '"load_stats_config":{"x":9007199254740993}',
  );
  expect(() => doc({ env: { ISTIO_META_LOAD_STATS_CONFIG_JSON: "{" } })).toThrow(
    /^ISTIO_META_LOAD_STATS_CONFIG_JSON: /,
  );
});

test("JSON logs have a format of their own", () => {
  expect(doc({ agent: { logAsJson: true } }).application_log_config).toMatchObject({
    log_format: { json_format: { msg: "%j" } },
  });
});

test("Lightstep's token is a file beside the document", () => {
  const { secretFiles, document } = generate({
    proxyConfig: { tracing: { lightstep: { ...address, accessToken: "secret" } } },
  });
  expect(secretFiles).toEqual([{ path: "etc/istio/proxy/lightstep_access_token.txt", content: "secret" }]);
  expect(JSON.stringify(document.tracing)).toContain(
    '"access_token_file":"etc/istio/proxy/lightstep_access_token.txt"',
  );
});
