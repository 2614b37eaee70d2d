import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { generateBootstrap } from "../../src/bootstrap/core/generate-bootstrap.ts";
import { BOOTSTRAP_RULES } from "../../src/bootstrap/core/generations.ts";
import { buildNodeDescriptor } from "../../src/bootstrap/core/node-descriptor.ts";
import type { BootstrapInputs } from "../../src/bootstrap/inputs.ts";
import { readBootstrapOverride, writeBootstrap } from "../../src/bootstrap/write-bootstrap.ts";
import { bootstrapInputs, loadBootstrapCases } from "../conformance/bootstrap.ts";
import { goldenPath, needsGoldenData } from "../conformance/golden-data.ts";
import { type InputOverrides, sidecarInputs } from "../support/bootstrap/bootstrap-inputs.ts";
import { envoyVerdict } from "../support/envoy/run-envoy.ts";
import { needs } from "../support/needs.ts";

/** A self-signed root that Envoy can load; nothing is signed with it. */
const TEST_ROOT = `-----BEGIN CERTIFICATE-----
MIIBfzCCASWgAwIBAgIUE+Rt9hf00/KYhPUJpl24Ie7H900wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJdGVzdCByb290MCAXDTI2MTExNTIyMzYyNloYDzIxMjYxMDIy
MjIzNjI2WjAUMRIwEAYDVQQDDAl0ZXN0IHJvb3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQcB4Gz7MGNPt6qNrhqwgJxzAQE8iJQGE2AW8o+KMi499RjeKsIN2oq
S19HErYfZSKHixftW04QU0ZzGIGgXucGo1MwUTAdBgNVHQ4EFgQUiNxV2KX6xTB4
sFT6p4hCa8l2uzcwHwYDVR0jBBgwFoAUiNxV2KX6xTB4sFT6p4hCa8l2uzcwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAnFc0+ynkOD681bBFS7ms
hxA0TCCd/EGj7L6IkoFY1/gCID8eYXlYwEcD2otc+TcPUNOBm406V5jljt3zFCB0
MGyq
-----END CERTIFICATE-----
`;

let dir: string;
beforeEach(needs("envoy"));
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "validate-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function validateInputs(inputs: BootstrapInputs): Promise<string> {
  const path = join(dir, "bootstrap.json");
  await writeFile(path, generateBootstrap(inputs, buildNodeDescriptor(inputs)).text);
  return envoyVerdict(path);
}

const goldenDir = goldenPath("bootstrap");
const cases = existsSync(goldenDir) ? await loadBootstrapCases(goldenDir) : [];

describe("stock Envoy accepts the document of every golden case", () => {
  test("golden data is present", (context) => {
    needsGoldenData(context, goldenDir);
    expect(cases.length).toBeGreaterThan(0);
  });
  for (const entry of cases.filter((candidate) => candidate.inputs.proxyConfig.tracing?.lightstep === undefined)) {
    test(entry.case, async () => {
      expect(await validateInputs(bootstrapInputs(entry, dir))).toBe("ok");
    });
  }
});

const remote = { address: "remote:15000" };
const ACCEPTED: readonly (InputOverrides & { readonly what: string })[] = [
  { what: "the defaults", proxyConfig: {} },
  { what: "JSON logs", agent: { logAsJson: true } },
  { what: "IPv6 only", nodeIps: ["2001:db8::1"], proxyConfig: { discoveryAddress: "[2001:db8::2]:15012" } },
  {
    what: "dual stack with secure metrics and proxy protocol",
    nodeIps: ["2001:db8::1", "10.0.0.1"],
    features: { dualStack: true, statusPortProxyProtocol: true, stripFragmentFromPath: false },
    agent: { envoySecureMetricsPort: 15091, envoySecureMergedMetricsPort: 15092, exitOnZeroActiveConnections: true },
  },
  { what: "metrics on localhost only", proxyConfig: { proxyMetadata: { METRICS_LOCALHOST_ACCESS_ONLY: "true" } } },
  { what: "no compression", proxyConfig: { statsCompression: false } },
  { what: "FIPS", agent: { compliancePolicy: "fips-140-2" } },
  { what: "SotW discovery", features: { deltaXds: false } },
  {
    what: "Zipkin over TLS without a CA",
    proxyConfig: { tracing: { zipkin: remote, tlsSettings: { mode: "SIMPLE" } } },
  },
  {
    what: "Datadog on the host with mesh certificates",
    env: { HOST_IP: "10.0.0.9" },
    proxyConfig: {
      tracing: {
        datadog: { address: "$(HOST_IP):8126" },
        tlsSettings: { mode: "ISTIO_MUTUAL", subjectAltNames: ["a"] },
      },
    },
  },
  {
    what: "remote services with keepalive and client certificates",
    proxyConfig: {
      envoyMetricsService: { ...remote, tcpKeepalive: { probes: 3, time: "10s", interval: "1.5s" } },
      envoyAccessLogService: {
        ...remote,
        tcpKeepalive: {},
        tlsSettings: { mode: "MUTUAL", clientCertificate: "/c.pem", privateKey: "/k.pem", sni: "x" },
      },
    },
  },
  {
    what: "a TLS peer that is not verified",
    proxyConfig: { envoyMetricsService: { ...remote, tlsSettings: { mode: "SIMPLE", insecureSkipVerify: true } } },
  },
  { what: "the deprecated metrics address", proxyConfig: { envoyMetricsServiceAddress: "metrics:15000" } },
  { what: "statsd", proxyConfig: { statsdUdpAddress: "10.0.0.2:8125" } },
  { what: "self discovery", env: { ISTIO_META_ENABLE_SELF_DISCOVERY: "true" } },
  {
    what: "file credentials and an outlier log",
    agent: { customCredentialsFileExists: true, outlierLogPath: "/dev/stdout" },
  },
  {
    what: "load reports",
    env: {
      ISTIO_META_LOAD_STATS_CONFIG_JSON:
        '{"api_type":"GRPC","transport_api_version":"V3","grpc_services":[{"envoy_grpc":{"cluster_name":"xds-grpc"}}]}',
    },
  },
  {
    what: "statistics by annotation",
    podAnnotations: [
      'sidecar.istio.io/statsFlushInterval="1m30s"',
      'sidecar.istio.io/statsEvictionInterval="3m"',
      'sidecar.istio.io/statsHistogramBuckets="{\\"istio\\":[1,5,10]}"',
      'sidecar.istio.io/statsInclusionPrefixes="a,,listener.{pod_ip}"',
      'sidecar.istio.io/statsInclusionRegexps="b.*"',
      'sidecar.istio.io/extraStatTags="one,two"',
    ].join("\n"),
  },
  {
    what: "intervals below a second",
    podAnnotations: 'sidecar.istio.io/statsFlushInterval="500ms"\nsidecar.istio.io/statsEvictionInterval="1500ms"',
  },
  {
    what: "a flush interval of zero",
    podAnnotations: 'sidecar.istio.io/statsFlushInterval="0s"\nsidecar.istio.io/statsEvictionInterval="10s"',
  },
  {
    what: "a connection limit of zero",
    proxyConfig: { proxyMetadata: { ISTIO_META_GLOBAL_DOWNSTREAM_MAX_CONNECTIONS: "0" } },
  },
  {
    what: "text that needs escaping everywhere",
    nodeId: 'sidecar~10.0.0.1~a"b\\.n\ns~x',
    env: { POD_NAME: 'a"b\\', ISTIO_METAJSON_LABELS: '{"app":"\\"\\ud800\\u0000","version":"{{.}}"}' },
    podLabels: 'l="\\"quoted\\"\\n"\n',
    agent: { workloadIdentitySocketFile: 'so"cket' },
    proxyConfig: { configPath: '/tmp/a"b', extraStatTags: ['t"'], serviceCluster: 'x"y' },
  },
];

describe("stock Envoy accepts every variation of the current generation", () => {
  test.each(ACCEPTED)("$what", async ({ what: _, ...overrides }) => {
    expect(await validateInputs(sidecarInputs(overrides))).toBe("ok");
  });
});

describe("what stock Envoy 1.40 makes of other generations", () => {
  const sotw = { deltaXds: false };
  const services = { envoyAccessLogService: remote, tracing: { zipkin: remote } };
  const root = async () => {
    const path = join(dir, "root.pem");
    await writeFile(path, TEST_ROOT);
    return path;
  };

  test.each([
    {
      what: "1.20",
      generation: "1.20" as const,
      features: sotw,
      proxyConfig: { ...services, envoyMetricsService: remote },
    },
    {
      what: "1.8 through the agent",
      generation: "1.8" as const,
      features: sotw,
      proxyConfig: { ...services, envoyMetricsService: remote },
    },
    { what: "1.8 directly", generation: "1.8" as const, features: { ...sotw, xdsViaAgent: false } },
    { what: "1.8 with call credentials", generation: "1.8" as const, features: { ...sotw, callCredentials: true } },
    { what: "1.7", generation: "1.7" as const, features: sotw, proxyConfig: services },
    { what: "1.6", generation: "1.6" as const, features: sotw, proxyConfig: services },
  ])("$what is accepted", async ({ what: _, ...overrides }) => {
    const agent = { xdsRootCert: await root() };
    expect(await validateInputs(sidecarInputs({ ...overrides, agent }))).toBe("ok");
  });

  test.each([
    {
      what: "untyped sinks of 1.7",
      generation: "1.7" as const,
      proxyConfig: { envoyMetricsService: remote },
      reason: "no such field: 'config'",
    },
    {
      what: "plain regular expressions of 1.7",
      generation: "1.7" as const,
      proxyConfig: { proxyStatsMatcher: { inclusionRegexps: ["a.*"] } },
      reason: "no such field: 'regex'",
    },
    {
      what: "OpenCensus of 1.20",
      generation: "1.20" as const,
      proxyConfig: { tracing: { openCensusAgent: remote } },
      reason: "could not find @type 'type.googleapis.com/envoy.config.trace.v3.OpenCensusConfig'",
    },
    {
      what: "Lightstep",
      generation: "master" as const,
      proxyConfig: { tracing: { lightstep: { ...remote, accessToken: "t" } } },
      reason: "Didn't find a registered implementation for 'envoy.tracers.lightstep'",
    },
  ])("$what: refused, because it dropped that", async ({ generation, proxyConfig, reason }) => {
    const agent = { xdsRootCert: await root() };
    expect(await validateInputs(sidecarInputs({ generation, proxyConfig, agent, features: sotw }))).toContain(reason);
  });

  test("metadata discovery needs Istio's own build", async () => {
    const inputs = sidecarInputs({ agent: { metadataDiscovery: true } });
    expect(await validateInputs(inputs)).toContain("Didn't find a registered implementation for 'metadata_discovery'");
  });
});

test("a user's template with Istio's parameters makes a document Envoy accepts", async () => {
  const template = join(dir, "bootstrap.json.tmpl");
  await writeFile(
    template,
    `{
  "node": {"id": "{{ .nodeID }}", "cluster": "{{ .cluster }}", "metadata": {{ .meta_json_str }}},
  "admin": {"address": {"socket_address": {"address": "{{ .localhost }}", "port_value": {{ .config.ProxyAdminPort }}}}},
  "static_resources": {"clusters": [
    {{- range $i, $name := list "one" "two" }}{{ if $i }},{{ end }}
    {"name": {{ quote $name }}, "type": "STRICT_DNS", "connect_timeout": "1s", "load_assignment": {"cluster_name": {{ quote $name }},
     "endpoints": [{"lb_endpoints": [{"endpoint": {"address": {"socket_address": {{ $.pilot_grpc_address }}}}}]}]}}
    {{- end }}
  ]}
}`,
  );
  const inputs = sidecarInputs({
    proxyConfig: { configPath: join(dir, "proxy"), proxyBootstrapTemplatePath: template },
  });
  const written = await writeBootstrap(inputs, { log: silentLogger });
  expect(await envoyVerdict(written.path)).toBe("ok");
});

test("an override is merged over the document by Envoy", async () => {
  const override = join(dir, "override.yaml");
  await writeFile(
    override,
    "static_resources:\n  clusters:\n  - name: extra\n    connect_timeout: 1s\n    type: STATIC\n",
  );
  const env = { ISTIO_BOOTSTRAP_OVERRIDE: override };
  const json = await readBootstrapOverride({ env, rules: BOOTSTRAP_RULES.master }, silentLogger);
  const written = await writeBootstrap(sidecarInputs({ proxyConfig: { configPath: dir } }), { log: silentLogger });
  expect(await envoyVerdict(written.path, "--config-yaml", json ?? "")).toBe("ok");
  expect(await envoyVerdict(written.path, "--config-yaml", '{"static_resources":{"clusters":[{"name":1}]}}')).not.toBe(
    "ok",
  );
});
