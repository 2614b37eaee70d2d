import { expect, test } from "vitest";
import { createWorld, NODE } from "../../../test/support/discovery/world.ts";
import { encodeMessage } from "../../protobuf/envoy/index.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import { generateOutboundClusters } from "../clusters/generate-clusters.ts";
import { generateOutboundListeners } from "../listeners/outbound.ts";

const entry = (name: string, location = "MESH_EXTERNAL") => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: ${name}, namespace: default}
spec:
  hosts: ["*.${name}.example"]
  location: ${location}
  resolution: DYNAMIC_DNS
  ports:
  - {number: 80, name: http, protocol: HTTP}
  - {number: 70, name: grpc, protocol: GRPC}
  - {number: 443, name: tls, protocol: TLS}
---`;
const rule = (spec: string) => `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: wild, namespace: default}
spec: {host: "*.wild.example", ${spec}}
---`;
const PLAIN = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: plain, namespace: default}
spec: {hosts: [plain.example], resolution: DNS, ports: [{number: 90, name: http, protocol: HTTP}]}
---`;

const clustersOf = (yaml: string, node: Parameters<ReturnType<typeof createWorld>["scope"]>[0] = NODE) =>
  new Map<string, Cluster>(
    generateOutboundClusters(createWorld(yaml).scope(node)).map((cluster) => [cluster.name ?? "", cluster]),
  );
const listenersOf = (yaml: string) => generateOutboundListeners(createWorld(yaml).scope()).listeners;
const dns = (dnsLookupFamily = "V4_ONLY") => ({ name: "dynamic_dns", dnsLookupFamily });

test("each port has a cluster that calls what was looked up, and subsets mean nothing to it", () => {
  const clusters = clustersOf(entry("wild") + rule("subsets: [{name: v1, labels: {version: v1}}]"));
  expect([...clusters.keys()]).toEqual([
    "outbound|80||*.wild.example",
    "outbound|70||*.wild.example",
    "outbound|443||*.wild.example",
  ]);
  for (const cluster of clusters.values()) {
    expect(cluster).toMatchObject({
      lbPolicy: "CLUSTER_PROVIDED",
      clusterType: { name: "envoy.clusters.dynamic_forward_proxy", typedConfig: { dnsCacheConfig: dns() } },
    });
    expect(cluster).not.toHaveProperty("type");
    expect(encodeMessage("envoy.config.cluster.v3.Cluster", cluster).length).toBeGreaterThan(0);
  }
});

const INSECURE = { allowInsecureClusterOptions: true };

test.each([
  { port: 80, tls: "", insecure: {}, asks: undefined, sni: undefined },
  // Any HTTP option makes Envoy require the others as well.
  { port: 70, tls: "", insecure: INSECURE, asks: undefined, sni: undefined },
  { port: 80, tls: "{mode: SIMPLE}", insecure: {}, asks: { autoSni: true, autoSanValidation: true }, sni: undefined },
  { port: 80, tls: "{mode: SIMPLE, sni: a.b}", insecure: INSECURE, asks: { autoSanValidation: true }, sni: "a.b" },
  {
    port: 80,
    tls: "{mode: SIMPLE, subjectAltNames: [a.b]}",
    insecure: {},
    asks: { autoSni: true, autoSanValidation: true },
    sni: undefined,
  },
  {
    port: 80,
    tls: "{mode: SIMPLE, insecureSkipVerify: true}",
    insecure: INSECURE,
    asks: { autoSni: true },
    sni: undefined,
  },
  {
    port: 80,
    tls: "{mode: ISTIO_MUTUAL}",
    insecure: {},
    asks: { autoSni: true, autoSanValidation: true },
    sni: undefined,
  },
])("port $port with TLS '$tls' asks servers for $asks", ({ port, tls, insecure, asks, sni }) => {
  const yaml = entry("wild") + (tls === "" ? "" : rule(`trafficPolicy: {tls: ${tls}}`));
  const cluster = clustersOf(yaml).get(`outbound|${port}||*.wild.example`);
  const { dnsCacheConfig: _cache, "@type": _type, ...flags } = cluster?.clusterType?.typedConfig ?? { "@type": "" };
  expect(flags).toEqual(insecure);
  const options = Object.values(cluster?.typedExtensionProtocolOptions ?? {})[0];
  expect(options?.upstreamHttpProtocolOptions).toEqual(asks);
  expect(cluster?.transportSocket?.typedConfig?.sni).toEqual(sni);
});

test("a service inside the mesh is called with mutual TLS by whoever proves to be able", () => {
  const cluster = clustersOf(entry("wild", "MESH_INTERNAL")).get("outbound|80||*.wild.example");
  expect(cluster?.transportSocketMatches?.map(({ name }) => name)).toEqual(["tlsMode-istio", "tlsMode-disabled"]);
});

test("pools and outliers of a rule count; there are no localities to weigh", () => {
  const policy = "connectionPool: {tcp: {maxConnections: 3}}, outlierDetection: {consecutive5xxErrors: 4}";
  const cluster = clustersOf(entry("wild") + rule(`trafficPolicy: {${policy}}`)).get("outbound|80||*.wild.example");
  expect(cluster).toMatchObject({
    circuitBreakers: { thresholds: [{ maxConnections: 3 }] },
    outlierDetection: { consecutive5xx: 4 },
  });
  expect(cluster).not.toHaveProperty("commonLbConfig");
});

test("a proxy without IPv4 looks up addresses that it can call", () => {
  const node = { id: "sidecar~2001:db8::1~c.default~default.svc.cluster.local", metadata: { NAMESPACE: "default" } };
  const [cluster] = clustersOf(entry("wild"), node).values();
  expect(cluster?.clusterType?.typedConfig).toMatchObject({ dnsCacheConfig: dns("V6_ONLY") });
});

test("HTTP listeners with such a service look up hosts right before the router, others do not", () => {
  const filters = (port: number) => {
    const listener = listenersOf(entry("wild") + entry("other") + PLAIN).find(({ name }) => name === `0.0.0.0_${port}`);
    const manager = listener?.filterChains?.[0]?.filters?.[0]?.typedConfig ?? {};
    return (manager as { httpFilters: { name: string; typedConfig: object }[] }).httpFilters;
  };
  const lookup = { name: "envoy.filters.http.dynamic_forward_proxy", typedConfig: { dnsCacheConfig: dns() } };
  expect(filters(80).at(-2)).toMatchObject(lookup);
  expect(filters(70).at(-2)).toMatchObject(lookup);
  expect(filters(90).map(({ name }) => name)).not.toContain(lookup.name);
});

test("TLS listeners look up the server name before the connection is carried on", () => {
  const listener = listenersOf(entry("wild")).find(({ name }) => name === "0.0.0.0_443");
  const chain = listener?.filterChains?.find(({ filterChainMatch }) => filterChainMatch?.serverNames !== undefined);
  expect(chain?.filterChainMatch?.serverNames).toEqual(["*.wild.example"]);
  expect(chain?.filters).toMatchObject([
    {
      name: "envoy.extensions.filters.network.sni_dynamic_forward_proxy",
      typedConfig: { dnsCacheConfig: dns(), portValue: 443 },
    },
    { typedConfig: { cluster: "outbound|443||*.wild.example" } },
  ]);
});
