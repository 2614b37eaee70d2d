import { describe, expect, test } from "vitest";
import type { InputOverrides } from "../../../test/support/bootstrap/bootstrap-inputs.ts";
import { sidecarInputs } from "../../../test/support/bootstrap/bootstrap-inputs.ts";
import { generateBootstrap } from "./generate-bootstrap.ts";
import { BOOTSTRAP_RULES } from "./generations.ts";
import { buildNodeDescriptor } from "./node-descriptor.ts";

const text = (generation: keyof typeof BOOTSTRAP_RULES, overrides: InputOverrides = {}) => {
  const inputs = sidecarInputs({ generation, features: { deltaXds: false }, ...overrides });
  return generateBootstrap(inputs, buildNodeDescriptor(inputs)).text;
};
const remote = { address: "r:1" };

describe("1.20", () => {
  test("lacks what came later", () => {
    const all = text("1.20", {
      agent: { envoySecureMetricsPort: 1, outlierLogPath: "/o" },
      podAnnotations: 'sidecar.istio.io/statsFlushInterval="5s"',
    });
    for (const later of [
      "application_log_config",
      "alt_stat_name",
      "ignore_global_conn_limit",
      "compressor",
      "overload_manager",
      "deferred",
      "stats_flush_interval",
      "secure_stats",
      '"name":"0.0.0.0_',
    ])
      expect(all).not.toContain(later);
  });

  test("keeps the connection limit in the runtime layer and the older statistics names", () => {
    const all = text("1.20");
    expect(all).toContain('"overload.global_downstream_max_connections":"2147483647"');
    expect(all).toContain('"regex":"vhost\\\\.*\\\\.route\\\\.*"');
    expect(all).toContain("svc\\\\.cluster\\\\.local");
    expect(all).toContain("./var/run/secrets/workload-spiffe-uds/socket");
    expect(all).not.toContain("thread_name");
  });

  test("traces with OpenCensus", () => {
    const agent = text("1.20", {
      proxyConfig: { tracing: { openCensusAgent: { ...remote, context: ["GRPC_BIN", "B3"] } } },
    });
    expect(agent).toContain('"ocagent_address":"r:1","incoming_trace_context":["GRPC_TRACE_BIN","B3"]');
    const google = text("1.20", {
      proxyConfig: { tracing: { stackdriver: { debug: true, maxNumberOfAttributes: "5" } } },
      platform: { metadata: { gcp_project: "proj" } },
      agent: { stsPort: 15463 },
    });
    for (const part of [
      '"stackdriver_project_id":"proj"',
      '"stdout_exporter_enabled":true',
      '"max_number_of_attributes":5',
      '"max_number_of_links":200',
      "http://localhost:15463/token",
      '"x-goog-user-project"',
    ]) {
      expect(google).toContain(part);
    }
  });
});

describe("1.8", () => {
  test("goes through the agent by default", () => {
    expect(text("1.8")).toContain('"pipe":{"path":"./etc/istio/proxy/XDS"}');
  });

  test("or connects itself, with the mesh's certificate", () => {
    const direct = text("1.8", {
      features: { deltaXds: false, xdsViaAgent: false },
      agent: { xdsRootCert: "/ca.pem" },
    });
    for (const part of [
      '"sni":"istiod.istio-system.svc"',
      '"trusted_ca":{"filename":"/ca.pem"}',
      '"match_subject_alt_names":[{"exact":"istiod.istio-system.svc"}]',
      '"port_value":15012',
    ]) {
      expect(direct).toContain(part);
    }
  });

  test("or presents a token", () => {
    const google = text("1.8", { features: { deltaXds: false, callCredentials: true }, agent: { stsPort: 15463 } });
    expect(google).not.toContain('"name":"xds-grpc"');
    for (const part of [
      '"target_uri":"istiod.istio-system.svc:15012"',
      '"grpc.keepalive_time_ms":{"int_value":10000}',
      "http://localhost:15463/token",
    ]) {
      expect(google).toContain(part);
    }
  });

  test("has modern names and a numeric program size", () => {
    const all = text("1.8", { proxyConfig: { statsdUdpAddress: "1.1.1.1:1" } });
    for (const part of [
      "envoy.filters.http.router",
      "envoy.stat_sinks.statsd",
      '"re2.max_program_size.error_level":1024',
    ]) {
      expect(all).toContain(part);
    }
  });
});

describe("1.7", () => {
  test("has fixed ports, old names and direct discovery", () => {
    const all = text("1.7", {
      agent: { envoyPrometheusPort: 1, envoyStatusPort: 2 },
      proxyConfig: { statusPort: 3, statsdUdpAddress: "1.1.1.1:1", tracing: { zipkin: remote } },
    });
    for (const part of [
      '"port_value":15090',
      '"port_value":15021',
      '"port_value":15020',
      '"envoy.http_connection_manager"',
      '"envoy.router"',
      '"envoy.zipkin"',
      '{"name":"envoy.statsd","config":',
      '"access_log_path":"/dev/null"',
      '"http2_protocol_options":{}',
      "./etc/istio/proxy/SDS",
      '"name":"deprecation"',
      "tcp_mixer_filter",
      "destination_canonical_revision",
    ]) {
      expect(all).toContain(part);
    }
    expect(all).not.toContain(
      'set_node_on_first_message_only":true,"transport_api_version":"V3","grpc_services":[{"envoy_grpc":{"cluster_name":"xds-grpc"',
    );
    expect(all).not.toContain('initial_fetch_timeout":"0s","resource_api_version":"V3"},"cds_config');
    expect(all).not.toContain("dns_refresh_rate");
  });

  test("takes statistics settings from raw metadata", () => {
    const env = { ISTIO_METAJSON_ANNOTATIONS: '{"sidecar.istio.io/statsInclusionRegexps":"a.*"}' };
    expect(text("1.7", { env })).toContain('{"regex":"a.*"},{"prefix":"component"}]');
  });

  test.each([
    { env: {}, ca: "./var/run/secrets/istio/root-cert.pem" },
    { env: { PILOT_CERT_PROVIDER: "kubernetes" }, ca: "./var/run/secrets/kubernetes.io/serviceaccount/ca.crt" },
    { env: { PROV_CERT: "/certs" }, ca: "/certs/root-cert.pem" },
  ])("checks the control plane with $ca for $env", ({ env, ca }) => {
    expect(text("1.7", { env })).toContain(`"trusted_ca":{"filename":"${ca}"}`);
  });

  test("without mutual TLS there is no transport socket", () => {
    expect(text("1.7", { proxyConfig: { controlPlaneAuthPolicy: "NONE" } })).not.toContain("transport_socket");
  });
});

test("1.6 is 1.7 with the profile beside the configuration", () => {
  const [older, newer] = [text("1.6"), text("1.7")];
  expect(older).toContain('"profile_path":"./etc/istio/proxy/envoy.prof"');
  expect(older.replace("./etc/istio/proxy/envoy.prof", "/var/lib/istio/data/envoy.prof")).toBe(newer);
});

test.each([
  ["master", 0, "envoy-rev.json"],
  ["master", 2, "envoy-rev2.json"],
  ["1.20", 0, "envoy-rev.json"],
  ["1.8", 0, "envoy-rev0.json"],
  ["1.6", 2, "envoy-rev2.json"],
] as const)("%s writes the bootstrap of epoch %d to %s", (generation, epoch, file) => {
  expect(BOOTSTRAP_RULES[generation].bootstrapFileName(epoch, "json")).toBe(file);
});
