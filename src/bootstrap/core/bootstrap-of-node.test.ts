import { expect, test } from "vitest";
import { type InputOverrides, sidecarInputs } from "../../../test/support/bootstrap/bootstrap-inputs.ts";
import { bootstrapOfNode } from "./bootstrap-of-node.ts";
import { generateBootstrap } from "./generate-bootstrap.ts";
import { buildNodeDescriptor } from "./node-descriptor.ts";

const zipkin = { tracing: { zipkin: { address: "zipkin.istio-system:9411" } } };

test.each<{ of: string; given: InputOverrides }>([
  { of: "a plain sidecar", given: {} },
  {
    of: "a sidecar of 1.20",
    given: { generation: "1.20", agent: { version: "1.20.3" }, features: { deltaXds: false } },
  },
  {
    of: "a gateway",
    given: { nodeId: "router~10.0.0.9~edge.ns~ns.svc.cluster.local", nodeIps: ["10.0.0.9"] },
  },
  { of: "a tracer", given: { proxyConfig: zipkin } },
  {
    of: "services for metrics, access logs and statsd",
    given: {
      proxyConfig: {
        envoyMetricsService: { address: "metrics:1" },
        envoyAccessLogService: { address: "logs:2", tcpKeepalive: { probes: 3, time: "10s" } },
        statsdUdpAddress: "10.1.1.1:8125",
      },
    },
  },
  {
    of: "settings of statistics",
    given: {
      proxyConfig: { proxyStatsMatcher: { inclusionPrefixes: ["a"], inclusionRegexps: ["b.*"] }, extraStatTags: ["t"] },
      podAnnotations: 'sidecar.istio.io/statsInclusionSuffixes="c"\n',
    },
  },
  {
    of: "other ports and paths",
    given: {
      proxyConfig: { proxyAdminPort: 15_500, statusPort: 15_520, configPath: "/tmp/proxy" },
      agent: { envoyStatusPort: 1, envoyPrometheusPort: 2, outlierLogPath: "/dev/stdout", stsPort: 15_463 },
    },
  },
  { of: "IPv6 alone", given: { nodeId: "sidecar~fd00::1~p.ns~d", nodeIps: ["fd00::1"] } },
  {
    of: "two families",
    given: {
      nodeIps: ["10.0.0.1", "fd00::1"],
      features: { dualStack: true },
      proxyConfig: { proxyMetadata: { ISTIO_DUAL_STACK: "true" } },
    },
  },
  { of: "runtime values", given: { proxyConfig: { runtimeValues: { "a.b": "true", "c.d": "9" } } } },
  { of: "a locality", given: { podLabels: 'topology.istio.io/locality="r.z.s"\napp="web"\n' } },
  { of: "an exit at the last connection", given: { agent: { exitOnZeroActiveConnections: true } } },
  { of: "a credential socket for files", given: { agent: { customCredentialsFileExists: true } } },
])("a control plane makes the bootstrap that the agent would write: $of", ({ given }) => {
  const inputs = sidecarInputs({ ...given, agent: { version: "1.29.0", ...given.agent } });
  const node = buildNodeDescriptor(inputs);
  const own = JSON.parse(generateBootstrap(inputs, node).text);
  // As it arrives: JSON without anything that the wire does not carry.
  const metadata = JSON.parse(JSON.stringify(node.metadata)) as Record<string, unknown>;
  const made = bootstrapOfNode({
    id: node.id,
    cluster: node.cluster,
    addresses: inputs.nodeIps,
    locality: node.locality,
    metadata,
  });
  expect(JSON.parse(JSON.stringify(made))).toEqual(own);
});

test("a node that says nothing of itself gets a bootstrap as well, one with wrong settings none", () => {
  const bare = { id: "sidecar~10.0.0.1~p.ns~d", cluster: "p", addresses: ["10.0.0.1"], locality: {}, metadata: {} };
  expect(bootstrapOfNode(bare)).toMatchObject({ node: { id: bare.id } });
  const wrong = { PROXY_CONFIG: { tracing: { zipkin: { address: "no port" } } } };
  expect(() => bootstrapOfNode({ ...bare, metadata: wrong })).toThrow("unable to parse zipkin address");
});
