import { expect, test } from "vitest";
import { createWorld, NODE } from "../../../test/support/discovery/world.ts";
import { derive } from "../../mesh-model/derive/derived.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { encodeMessage } from "../../protobuf/envoy/index.ts";
import { SCOPE } from "../shared/worlds.ts";
import { clusterProblems, clustersOfService, generateOutboundClusters } from "./generate-clusters.ts";

const entry = (name: string, spec: string, namespace = "default") => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: ${name}, namespace: ${namespace}}
spec: ${spec}
---`;
const rule = (host: string, spec: string) => `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: ${host.split(".")[0]}, namespace: default}
spec: {host: ${host}, ${spec}}
---`;
const policy = (name: string, spec: string) => `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: ${name}, namespace: default}
spec: ${spec}
---`;
const HTTP = "ports: [{number: 80, name: http, protocol: HTTP}]";
const web = (endpoints: string) =>
  entry(
    "web",
    `{hosts: [web.example], location: MESH_INTERNAL, resolution: STATIC, ${HTTP}, endpoints: [${endpoints}]}`,
  );
const WEB = web("{address: 10.0.0.1, serviceAccount: web, labels: {app: web}}");

const byName = (scope: OutboundScope) =>
  new Map(generateOutboundClusters(scope).map((cluster) => [cluster.name ?? "", cluster]));
const clusterOf = (yaml: string, name: string, mesh?: string) => byName(createWorld(yaml, mesh).scope()).get(name);

test.each([
  { resolution: "STATIC", gives: { type: "EDS" } },
  { resolution: "DNS", gives: { type: "STRICT_DNS", dnsLookupFamily: "V4_ONLY", respectDnsTtl: true } },
  { resolution: "DNS_ROUND_ROBIN", gives: { type: "LOGICAL_DNS", dnsRefreshRate: "60s" } },
  { resolution: "NONE", gives: { type: "ORIGINAL_DST", lbPolicy: "CLUSTER_PROVIDED" } },
])("a service of resolution $resolution is found by $gives", ({ resolution, gives }) => {
  const yaml = entry("a", `{hosts: [a.example], resolution: ${resolution}, ${HTTP}}`);
  expect(clusterOf(yaml, "outbound|80||a.example")).toMatchObject(gives);
});

test("endpoints are asked for by the cluster's own name, over the stream that is there already", () => {
  expect(clusterOf(WEB, "outbound|80||web.example")?.edsClusterConfig).toEqual({
    edsConfig: { ads: {}, initialFetchTimeout: "0s", resourceApiVersion: "V3" },
  });
});

test("names are looked up in the family that the proxy has", () => {
  const yaml = entry("a", `{hosts: [a.example], resolution: DNS, ${HTTP}}`);
  const node = {
    id: "sidecar~2001:db8::9~c.default~default.svc.cluster.local",
    metadata: { NAMESPACE: "default", INSTANCE_IPS: "2001:db8::9" },
  };
  expect(byName(createWorld(yaml).scope(node)).get("outbound|80||a.example")?.dnsLookupFamily).toBe("V6_ONLY");
});

test("a name service without anything to look up has no cluster, its other subsets have", () => {
  const endpoints = "endpoints: [{address: one.example, labels: {version: v1}}]";
  const yaml =
    entry("a", `{hosts: [a.example], resolution: DNS, ${HTTP}, ${endpoints}}`) +
    rule("a.example", "subsets: [{name: v1, labels: {version: v1}}, {name: v2, labels: {version: v2}}]");
  expect([...byName(createWorld(yaml).scope()).keys()]).toEqual(["outbound|80||a.example", "outbound|80|v1|a.example"]);
});

test("of several names a logical host has the one that is tried first", () => {
  const names = "workloadSelector: {labels: {app: a}}";
  const yaml =
    entry("a", `{hosts: [a.example], resolution: DNS_ROUND_ROBIN, ${HTTP}, ${names}}`) +
    workload("far", "{address: far.example, labels: {app: a}, locality: r0}") +
    workload("near", "{address: near.example, labels: {app: a}, locality: r1/z1/s1}") +
    rule("a.example", "trafficPolicy: {outlierDetection: {}}");
  const assignment = clusterOf(yaml, "outbound|80||a.example")?.loadAssignment;
  expect(assignment?.endpoints).toHaveLength(1);
  expect(JSON.stringify(assignment)).toContain("near.example");
});

test("every port and subset has its cluster, UDP has none", () => {
  const ports =
    "ports: [{number: 80, name: http, protocol: HTTP}, {number: 53, name: dns, protocol: UDP}, {number: 90, name: tcp, protocol: TCP}]";
  const yaml =
    entry("a", `{hosts: [a.example], resolution: STATIC, ${ports}}`) +
    rule("a.example", "subsets: [{name: v1, labels: {version: v1}}]");
  expect([...byName(createWorld(yaml).scope()).keys()]).toEqual([
    "outbound|80||a.example",
    "outbound|80|v1|a.example",
    "outbound|90||a.example",
    "outbound|90|v1|a.example",
  ]);
});

test("objects that share a host share its ports among them", () => {
  const yaml =
    entry("a", `{hosts: [a.example], resolution: STATIC, ${HTTP}}`) +
    entry(
      "b",
      "{hosts: [a.example], resolution: STATIC, ports: [{number: 80, name: x, protocol: TCP}, {number: 81, name: http, protocol: HTTP}]}",
    );
  expect([...byName(createWorld(yaml).scope()).keys()]).toEqual(["outbound|80||a.example", "outbound|81||a.example"]);
});

test("PASSTHROUGH goes to the address that was called, without any endpoints", () => {
  const cluster = clusterOf(
    WEB + rule("web.example", "trafficPolicy: {loadBalancer: {simple: PASSTHROUGH}}"),
    "outbound|80||web.example",
  );
  expect(cluster).toMatchObject({ type: "ORIGINAL_DST", lbPolicy: "CLUSTER_PROVIDED" });
  expect(cluster).not.toHaveProperty("edsClusterConfig");
  expect(cluster).not.toHaveProperty("transportSocketMatches");
  expect(cluster?.transportSocket?.name).toBe("envoy.transport_sockets.tls");
});

const STRICT = policy("default", "{mtls: {mode: STRICT}}");
const DISABLED = policy("default", "{mtls: {mode: DISABLE}}");
const headless = (endpoints: string) =>
  entry(
    "web",
    `{hosts: [web.example], location: MESH_INTERNAL, resolution: NONE, ${HTTP}, workloadSelector: {labels: {app: web}}}`,
  ) + endpoints;
const workload = (name: string, spec: string) => `
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: ${name}, namespace: default}
spec: ${spec}
---`;
const ABLE = workload("one", "{address: 10.0.0.1, labels: {app: web}, serviceAccount: web}");
const UNABLE = workload("two", "{address: 10.0.0.2, labels: {app: web}}");

test.each([
  { what: "a workload with identity", yaml: WEB, socket: "matches" },
  { what: "a service outside the mesh", yaml: WEB.replace("MESH_INTERNAL", "MESH_EXTERNAL"), socket: "none" },
  { what: "a namespace with STRICT", yaml: WEB + STRICT, socket: "matches" },
  { what: "a namespace without mutual TLS", yaml: WEB + DISABLED, socket: "none" },
  { what: "a mesh without automatic TLS", yaml: WEB, mesh: "enableAutoMtls: false", socket: "none" },
  { what: "a headless service, all able", yaml: headless(ABLE), socket: "tls" },
  { what: "a headless service, one not able", yaml: headless(ABLE + UNABLE), socket: "none" },
  { what: "a headless service without workloads", yaml: headless(""), socket: "none" },
  {
    what: "a headless service, one with DISABLE",
    yaml: headless(ABLE) + policy("web", "{selector: {matchLabels: {app: web}}, mtls: {mode: DISABLE}}"),
    socket: "none",
  },
])("$what: $socket", ({ yaml, mesh, socket }) => {
  const cluster = clusterOf(yaml, "outbound|80||web.example", mesh);
  const found = cluster?.transportSocketMatches ? "matches" : (cluster?.transportSocket?.name ?? "none");
  expect(found.replace("envoy.transport_sockets.", "")).toBe(socket);
});

test("certificates may carry the accounts of endpoints and the names of the service, in every name of the trust domain", () => {
  const yaml = web(
    "{address: 10.0.0.1, serviceAccount: b}, {address: 10.0.0.2, serviceAccount: a}, {address: 10.0.0.3}",
  ).replace("resolution:", "subjectAltNames: [web.example], resolution:");
  const cluster = clusterOf(yaml, "outbound|80||web.example", "trustDomainAliases: [old]");
  const names = [...JSON.stringify(cluster).matchAll(/"exact":"([^"]+)"/g)].map(([, name]) => name);
  expect(names).toEqual([
    "spiffe://cluster.local/ns/default/sa/a",
    "spiffe://cluster.local/ns/default/sa/b",
    "spiffe://old/ns/default/sa/a",
    "spiffe://old/ns/default/sa/b",
    "web.example",
  ]);
});

test("a proxy with certificates in files shows those", () => {
  const metadata = {
    ...NODE.metadata,
    TLS_CLIENT_CERT_CHAIN: "/c.pem",
    TLS_CLIENT_KEY: "/k.pem",
    TLS_CLIENT_ROOT_CERT: "/r.pem",
  };
  const text = JSON.stringify(generateOutboundClusters(createWorld(WEB).scope({ ...NODE, metadata })));
  expect(text).toContain('"file-cert:/c.pem~/k.pem"');
  expect(text).toContain('"file-root:/r.pem"');
  expect(text).not.toContain('"ROOTCA"');
});

test("weights of localities are looked at where a rule gives them", () => {
  const distribute = "trafficPolicy: {loadBalancer: {localityLbSetting: {distribute: [{from: r1, to: {r1: 100}}]}}}";
  expect(clusterOf(WEB + rule("web.example", distribute), "outbound|80||web.example")?.commonLbConfig).toEqual({
    healthyPanicThreshold: {},
    localityWeightedLbConfig: {},
  });
});

test("a rule that cannot be followed is reported, and takes nothing else with it", () => {
  const yaml =
    WEB +
    entry("b", `{hosts: [b.example], resolution: STATIC, ${HTTP}}`) +
    rule("web.example", "trafficPolicy: {tls: {mode: SIMPLE, credentialName: some-secret}}");
  const scope = createWorld(yaml).scope();
  expect([...byName(scope).keys()]).toEqual(["outbound|80||b.example", "outbound|80||web.example"]);
  expect(scope.services.flatMap((service) => clusterProblems(scope, service))).toEqual([
    expect.stringMatching(
      /^DestinationRule\/default\/web: web\.example: tls\.credentialName "some-secret" cannot be used: /,
    ),
  ]);
});

test("a plain HTTP cluster of the mesh fits into 600 bytes", () => {
  const [cluster = {}] = generateOutboundClusters(createWorld(WEB).scope());
  expect(encodeMessage("envoy.config.cluster.v3.Cluster", cluster).length).toBeLessThan(600);
});

/** Whether the clusters are still good after the change; then they must be equal to what is made again. */
function staysTheSame(yaml: string, change: (world: ReturnType<typeof createWorld>) => void): boolean {
  const world = createWorld(yaml);
  const look = () => {
    const scope = world.scope();
    const service = scope.service("web.example");
    if (service === undefined) throw new Error("no web.example");
    return { scope, service, made: derive(SCOPE, scope, (reader) => clustersOfService(reader, service)) };
  };
  const before = look();
  change(world);
  const after = look();
  const isSame = before.service === after.service && before.made.holdsIn(after.scope);
  if (isSame) expect(after.made.value).toEqual(before.made.value);
  else expect(after.made.value).not.toEqual(before.made.value);
  return isSame;
}

const SUBSET = rule("web.example", "subsets: [{name: v1, labels: {version: v1}}]");

test.each([
  {
    change: "an object of another service",
    put: entry("b", `{hosts: [b.example], resolution: STATIC, ${HTTP}}`),
    same: true,
  },
  {
    change: "one more endpoint of the same account",
    put: web("{address: 10.0.0.1, serviceAccount: web, labels: {app: web}}, {address: 10.0.0.2, serviceAccount: web}"),
    same: true,
  },
  { change: "an endpoint of another account", put: web("{address: 10.0.0.1, serviceAccount: other}"), same: false },
  { change: "a rule", put: SUBSET, same: false },
  { change: "a rule for another host", put: SUBSET.replace("web.example", "b.example"), same: true },
  { change: "mutual TLS switched off", put: DISABLED, same: false },
  { change: "another protocol", put: WEB.replace("protocol: HTTP", "protocol: GRPC"), same: false },
])("after $change the clusters of a service are to stay the same: $same", ({ put, same }) => {
  expect(staysTheSame(WEB, (world) => world.put(put))).toBe(same);
});

test("that a server insists on mutual TLS changes nothing for a client that has it", () => {
  const world = createWorld(WEB);
  const before = generateOutboundClusters(world.scope());
  world.put(STRICT);
  expect(generateOutboundClusters(world.scope())).toEqual(before);
});

test.each([
  { change: "one more name", endpoints: "{address: one.example}, {address: two.example}", same: false },
  { change: "nothing", endpoints: "{address: one.example}", same: true },
])("after $change a service of names is to stay the same: $same", ({ endpoints, same }) => {
  const names = (list: string) =>
    entry("web", `{hosts: [web.example], resolution: DNS, ${HTTP}, endpoints: [${list}]}`);
  expect(staysTheSame(names("{address: one.example}"), (world) => world.put(names(endpoints)))).toBe(same);
});

test("a headless service is made again when a workload stops being able", () => {
  expect(staysTheSame(headless(ABLE), (world) => world.put(UNABLE))).toBe(false);
  const off = policy("web", "{selector: {matchLabels: {app: web}}, mtls: {mode: DISABLE}}");
  expect(staysTheSame(headless(ABLE), (world) => world.put(off))).toBe(false);
});

test("what is left of names after a distribution is still a cluster, but no cluster without any name", () => {
  const named = (endpoints: string) =>
    entry("web", `{hosts: [web.example], resolution: DNS, ${HTTP}, endpoints: [${endpoints}]}`);
  const far = rule(
    "web.example",
    "trafficPolicy: {loadBalancer: {localityLbSetting: {distribute: [{from: '*', to: {r9: 100}}]}}}",
  );
  const [cluster] = generateOutboundClusters(createWorld(named("{address: a.example, locality: r1}") + far).scope());
  expect(cluster).toMatchObject({ type: "STRICT_DNS", loadAssignment: { clusterName: cluster?.name } });
  expect(cluster?.loadAssignment).not.toHaveProperty("endpoints");
});

test("a service without resolution may be called on another port than clients ask for", () => {
  const ports = "ports: [{number: 80, name: http, protocol: HTTP, targetPort: 8080}]";
  const [cluster] = generateOutboundClusters(
    createWorld(entry("web", `{hosts: [web.example], resolution: NONE, ${ports}}`)).scope(),
  );
  expect(cluster).toMatchObject({ type: "ORIGINAL_DST", originalDstLbConfig: { upstreamPortOverride: 8080 } });
});

test("of one host in two namespaces the first by namespace is called, regardless of the names of the objects", () => {
  const entryIn = (name: string, resolution: string, namespace: string) =>
    entry(name, `{hosts: [two.example], resolution: ${resolution}, ${HTTP}}`, namespace);
  const [cluster] = generateOutboundClusters(
    createWorld(entryIn("a", "STATIC", "second") + entryIn("b", "DNS", "first")).scope(),
  );
  expect(cluster?.type).toBe("STRICT_DNS");
});

test("a cluster names the rule that it follows, and one without a rule names none", () => {
  const ruled = clusterOf(
    `${WEB}${rule("web.example", "trafficPolicy: {loadBalancer: {simple: RANDOM}}")}`,
    "outbound|80||web.example",
  );
  const config = "/apis/networking.istio.io/v1/namespaces/default/destination-rule/web";
  expect(ruled?.metadata?.filterMetadata?.istio).toEqual({ config });
  expect(clusterOf(WEB, "outbound|80||web.example")?.metadata?.filterMetadata ?? {}).not.toHaveProperty("istio");
});
