import { describe, expect, test } from "vitest";
import type { InputOverrides } from "../../../test/support/bootstrap/bootstrap-inputs.ts";
import { sidecarInputs } from "../../../test/support/bootstrap/bootstrap-inputs.ts";
import { generateBootstrap } from "./generate-bootstrap.ts";
import { buildNodeDescriptor } from "./node-descriptor.ts";
import { templateRenderer } from "./template-renderer.ts";

const render = (template: string, overrides: InputOverrides = {}) => {
  const inputs = sidecarInputs(overrides);
  return generateBootstrap(inputs, buildNodeDescriptor(inputs), templateRenderer(template)).text;
};

test.each([
  ["{{ .nodeID }} {{ .nodeType }} {{ .cluster }}", "sidecar~10.0.0.1~p.ns~ns.svc.cluster.local sidecar istio-proxy.ns"],
  ["{{ .config.ProxyAdminPort }} {{ .config.ConfigPath }} {{ .config.StatusPort }}", "15000 ./etc/istio/proxy 15020"],
  ["{{ .config.ControlPlaneAuthPolicy }} {{ eq .config.ControlPlaneAuthPolicy 1 }}", "MUTUAL_TLS true"],
  [
    "{{ .config.DrainDuration.Seconds }} {{ .config.DrainDuration }} {{ .config.TerminationDrainDuration.GetSeconds }}",
    "45 seconds:45 5",
  ],
  ["{{ if .config.Tracing }}t{{ else }}none{{ end }} {{ .config.MeshId }}|{{ len .config.ProxyMetadata }}", "none |0"],
  ["{{ .pilot_grpc_address }}", '{"address": "istiod.istio-system.svc", "port_value": 15012}'],
  [
    "{{ .pilot_SAN }} {{ .discovery_host }} {{ .xds_type }}",
    '[{"exact":"istiod.istio-system.svc"}] istiod.istio-system.svc DELTA_GRPC',
  ],
  ["{{ .localhost }} {{ .wildcard }} {{ .dns_lookup_family }} {{ .dual_stack }}", "127.0.0.1 0.0.0.0 V4_ONLY false"],
  ["{{ .region }}|{{ .zipkin }}|{{ if .zipkin }}z{{ end }}", "<no value>|<no value>|"],
  [
    "{{ .metadata.InstanceName }} {{ .metadata.IstioVersion }} {{ .metadata.InstanceIPs }} {{ .metadata.DNSCapture }}",
    "p 1.0.0 [10.0.0.1] false",
  ],
  [
    "{{ range $i, $p := .inclusionPrefix }}{{ if $i }},{{ end }}{{ $p }}{{ end }}",
    "cluster_manager,listener_manager,server,cluster.xds-grpc,wasm",
  ],
  [
    "{{ .global_downstream_max_connections }} {{ .envoy_status_port }} {{ .envoy_prometheus_port }}",
    "2147483647 15021 15090",
  ],
  ["{{ .xds_root_cert }}|{{ .sts }}|{{ .secure_metrics_port }}", "|false|<no value>"],
])("%s renders %s", (template, text) => {
  expect(render(template)).toBe(text);
});

test("JSON parameters hold JSON text", () => {
  const metadata = JSON.parse(render("{{ .meta_json_str }}", { podLabels: 'a="\\"<b>&"\n' }));
  expect(metadata.LABELS).toEqual({ a: '"<b>&' });
  expect(JSON.parse(render("{{ .runtime_flags }}"))).toHaveProperty(["re2.max_program_size.error_level"], "32768");
});

test("services, tracers and statistics", () => {
  const proxyConfig = {
    tracing: {
      lightstep: { address: "l:1", accessToken: "t" },
      tlsSettings: { mode: "SIMPLE" as const, caCertificates: "/ca" },
    },
    envoyMetricsService: { address: "m:2", tcpKeepalive: { probes: 3 } },
    statsdUdpAddress: "10.0.0.1:8125",
    concurrency: 2,
  };
  const template =
    "{{.lightstep}} {{.lightstepToken}} {{.envoy_metrics_service_address}} {{.envoy_metrics_service_tcp_keepalive}} {{.statsd}} {{.config.Concurrency.Value}}";
  expect(render(template, { proxyConfig })).toBe(
    '{"address": "l", "port_value": 1} t {"address": "m", "port_value": 2} {"tcp_keepalive":{"keepalive_probes":3}} {"address": "10.0.0.1", "port_value": 8125} 2',
  );
  expect(render("{{.tracing_tls}}", { proxyConfig })).toContain("file-root:/ca");
  expect(
    render("{{.config.Tracing.Lightstep.Address}} {{.config.EnvoyMetricsService.TcpKeepalive.Probes}}", {
      proxyConfig,
    }),
  ).toBe("l:1 3");
  expect(render("{{toJSON .config.Tracing}}", { proxyConfig })).toContain('"accessToken":"t"');
});

test("Stackdriver's limits have defaults and are exact", () => {
  const overrides = {
    proxyConfig: {
      tracing: { stackdriver: { maxNumberOfAnnotations: "7", maxNumberOfAttributes: "9007199254740993" } },
    },
    platform: { metadata: { gcp_project: "p" } },
  };
  const limits = "{{.stackdriverMaxAnnotations}} {{.stackdriverMaxEvents}} {{.stackdriverMaxAttributes}}";
  expect(render(`{{.stackdriver}} {{.stackdriverProjectID}} ${limits}`, overrides)).toBe(
    "true p 7 200 9007199254740993",
  );
});

describe("mistakes in a template", () => {
  test.each([
    ["{{ if }}x{{ end }}", "template: bootstrap:1: missing value for if"],
    [
      "{{ .config.Nope }}",
      `template: bootstrap:1:10: executing "bootstrap" at <.config.Nope>: can't evaluate field Nope in type interface {}`,
    ],
    ["\n\n{{ nope }}", 'template: bootstrap:3: function "nope" not defined'],
  ])("%j is reported as Go does", (template, message) => {
    expect(() => render(template)).toThrow(expect.objectContaining({ code: "invalid-template", message }));
  });

  test("1.7 has no Sprig, but toJSON", () => {
    expect(() => render('{{ upper "a" }}', { generation: "1.7" })).toThrow('function "upper" not defined');
    expect(render("{{ toJSON .nothing }}", { generation: "1.7" })).toBe("{}");
  });
});
