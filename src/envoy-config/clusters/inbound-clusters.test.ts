import { expect, test } from "vitest";
import { viewOfCase } from "../../../test/support/mesh-model/view-of-case.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import { generateInboundClusters } from "./generate-clusters.ts";

const SERVICE = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: web, namespace: default}
spec:
  hosts: [web.default.svc.cluster.local]
  location: MESH_INTERNAL
  resolution: STATIC
  ports:
  - {number: 80, name: http, protocol: HTTP, targetPort: 8080}
  - {number: 81, name: grpc, protocol: GRPC, targetPort: 8081}
  - {number: 82, name: any, targetPort: 8082}
  endpoints: [{address: 10.0.0.1, labels: {app: web}}]
`;

interface Circumstances {
  readonly mesh?: string;
  readonly addresses?: string;
  readonly mode?: string;
}

function inbound(yaml: string, { mesh, addresses = "10.0.0.1", mode = "REDIRECT" }: Circumstances = {}) {
  const metadata = { NAMESPACE: "default", INSTANCE_IPS: addresses, INTERCEPTION_MODE: mode, LABELS: { app: "web" } };
  const [first = ""] = addresses.split(",");
  const view = viewOfCase(yaml, mesh, { id: `sidecar~${first}~web-0.default~default.svc.cluster.local`, metadata });
  return new Map<string, Cluster>(generateInboundClusters(view).map((cluster) => [cluster.name ?? "", cluster]));
}

const sidecar = (spec: string) => `${SERVICE}---
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: web, namespace: default}
spec:
  workloadSelector: {labels: {app: web}}
  ${spec}
`;

const FIXED = ["BlackHoleCluster", "PassthroughCluster", "InboundPassthroughCluster"];

test("each port that the workload serves has a cluster to the address that was called, from an address of its own", () => {
  const clusters = inbound(SERVICE);
  expect([...clusters.keys()]).toEqual([...FIXED, "inbound|8080||", "inbound|8081||", "inbound|8082||"]);
  expect(clusters.get("inbound|8080||")).toMatchObject({
    type: "ORIGINAL_DST",
    lbPolicy: "CLUSTER_PROVIDED",
    connectTimeout: "10s",
    upstreamBindConfig: { sourceAddress: { address: "127.0.0.6", portValue: 0 } },
  });
  expect(clusters.get("inbound|8080||")).not.toHaveProperty("typedExtensionProtocolOptions");
  expect(JSON.stringify(clusters.get("inbound|8081||"))).toContain('"explicitHttpConfig":{"http2ProtocolOptions":{}}');
  expect(JSON.stringify(clusters.get("inbound|8082||"))).toContain('"useDownstreamProtocolConfig"');
});

test("unknown traffic is let through or ended, regardless of what the mesh holds", () => {
  const clusters = inbound("");
  expect([...clusters.keys()]).toEqual(FIXED);
  expect(clusters.get("BlackHoleCluster")).toEqual({
    name: "BlackHoleCluster",
    altStatName: "BlackHoleCluster;",
    type: "STATIC",
    connectTimeout: "10s",
  });
  expect(clusters.get("PassthroughCluster")).not.toHaveProperty("upstreamBindConfig");
  expect(JSON.stringify(clusters.get("PassthroughCluster"))).toContain('"idleTimeout":"300s"');
  expect(clusters.get("InboundPassthroughCluster")).toHaveProperty("upstreamBindConfig");
});

test("the mesh's keepalive counts for unknown traffic too", () => {
  const clusters = inbound("", { mesh: "tcpKeepalive: {time: 60s}" });
  const kept = [...clusters].filter(([, { upstreamConnectionOptions }]) => upstreamConnectionOptions !== undefined);
  expect(kept.map(([name]) => name)).toEqual(["PassthroughCluster", "InboundPassthroughCluster"]);
});

test("an application is called with its client's protocol and retry budget where a rule says so, and never upgraded", () => {
  const rule = (http: string) => `${SERVICE}---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: web, namespace: default}
spec: {host: web, trafficPolicy: {connectionPool: {http: ${http}}}}
`;
  const budget = rule("{maxRetries: 3}").replace("connectionPool:", "retryBudget: {percent: 30}, connectionPool:");
  expect(JSON.stringify(inbound(budget).get("inbound|8080||"))).toContain(
    '"retryBudget":{"budgetPercent":{"value":30}',
  );
  const spoken = (http: string) => JSON.stringify(inbound(rule(http)).get("inbound|8080||"));
  expect(spoken("{useClientProtocol: true}")).toContain('"useDownstreamProtocolConfig"');
  expect(spoken("{h2UpgradePolicy: UPGRADE}")).not.toContain("http2ProtocolOptions");
});

test.each([
  { addresses: "10.0.0.1", bind: { sourceAddress: { address: "127.0.0.6", portValue: 0 } } },
  { addresses: "2001:db8::1", bind: { sourceAddress: { address: "::6", portValue: 0 } } },
  {
    addresses: "10.0.0.1,2001:db8::1",
    bind: {
      sourceAddress: { address: "127.0.0.6", portValue: 0 },
      extraSourceAddresses: [{ address: { address: "::6", portValue: 0 } }],
    },
  },
])("a workload at $addresses calls its application from $bind", ({ addresses, bind }) => {
  expect(inbound("", { addresses }).get("InboundPassthroughCluster")?.upstreamBindConfig).toEqual(bind);
});

test("a mesh that leads to the loopback address does not use the original one", () => {
  const cluster = inbound(SERVICE, { mesh: "inboundTrafficPolicy: {mode: LOCALHOST}" }).get("inbound|8080||");
  expect(cluster).toMatchObject({
    type: "STATIC",
    loadAssignment: {
      clusterName: "inbound|8080||",
      endpoints: [
        { lbEndpoints: [{ endpoint: { address: { socketAddress: { address: "127.0.0.1", portValue: 8080 } } } }] },
      ],
    },
  });
  expect(cluster).not.toHaveProperty("upstreamBindConfig");
});

test("without redirection only ingress listeners of a Sidecar lead anywhere", () => {
  expect([...inbound(SERVICE, { mode: "NONE" }).keys()]).toEqual(FIXED);
  const ingress =
    "ingress: [{port: {number: 8000, protocol: HTTP, name: http}, bind: 127.0.0.11, captureMode: NONE, defaultEndpoint: '127.0.0.1:9080'}]";
  const clusters = inbound(sidecar(ingress), { mode: "NONE" });
  expect([...clusters.keys()]).toEqual([...FIXED, "inbound|8000||"]);
  expect(clusters.get("inbound|8000||")).toMatchObject({ type: "STATIC" });
  expect(clusters.get("inbound|8000||")).not.toHaveProperty("upstreamBindConfig");
});

test("an ingress listener may lead to a socket or to the workload's own address", () => {
  const clusters = inbound(
    sidecar(`ingress:
  - {port: {number: 9090, protocol: TCP, name: tcp}, defaultEndpoint: "unix:///run/app.sock"}
  - {port: {number: 9191, protocol: GRPC, name: grpc}, defaultEndpoint: "0.0.0.0:9191"}`),
  );
  expect(JSON.stringify(clusters.get("inbound|9090||")?.loadAssignment)).toContain('{"pipe":{"path":"/run/app.sock"}}');
  expect(clusters.get("inbound|9191||")).toMatchObject({
    upstreamBindConfig: { sourceAddress: { address: "127.0.0.6" } },
    loadAssignment: {
      endpoints: [
        { lbEndpoints: [{ endpoint: { address: { socketAddress: { address: "10.0.0.1", portValue: 9191 } } } }] },
      ],
    },
  });
});

test("an ingress listener that names no endpoint leads to the address that was called", () => {
  const port = "port: {number: 9090, protocol: TCP, name: tcp}";
  expect(inbound(sidecar(`ingress: [{${port}}]`)).get("inbound|9090||")).toMatchObject({
    type: "ORIGINAL_DST",
    lbPolicy: "CLUSTER_PROVIDED",
    upstreamBindConfig: { sourceAddress: { address: "127.0.0.6" } },
  });
  // A listener that is bound was itself called, and would call itself for ever.
  expect([...inbound(sidecar(`ingress: [{${port}, captureMode: NONE}]`)).keys()]).toEqual(FIXED);
  expect([...inbound(sidecar(`ingress: [{${port}}]`), { mode: "NONE" }).keys()]).toEqual(FIXED);
});

const limits = (cluster: Cluster | undefined) => cluster?.circuitBreakers?.thresholds?.[0];

test("the pool of an ingress listener beats that of its Sidecar, which beats that of a rule", () => {
  const rule = `---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: web, namespace: default}
spec:
  host: web
  trafficPolicy:
    connectionPool: {tcp: {maxConnections: 7}, http: {h2UpgradePolicy: UPGRADE}}
    loadBalancer: {simple: RANDOM}
    outlierDetection: {}
`;
  const ruled = inbound(SERVICE + rule).get("inbound|8080||");
  expect(limits(ruled)?.maxConnections).toBe(7);
  // The protocol announced to clients is not the one the application speaks.
  expect(ruled).not.toHaveProperty("typedExtensionProtocolOptions");
  expect(ruled).not.toHaveProperty("outlierDetection");
  const own = "inboundConnectionPool: {http: {http1MaxPendingRequests: 33}}";
  expect(limits(inbound(sidecar(own) + rule).get("inbound|8080||"))).toMatchObject({
    maxConnections: 4294967295,
    maxPendingRequests: 33,
  });
  const ingress = inbound(
    sidecar(`${own}
  ingress:
  - {port: {number: 9000, protocol: TCP, name: a}, defaultEndpoint: "127.0.0.1:1", connectionPool: {tcp: {maxConnections: 12}}}
  - {port: {number: 9001, protocol: TCP, name: b}, defaultEndpoint: "127.0.0.1:2"}`),
  );
  expect(limits(ingress.get("inbound|9000||"))).toMatchObject({ maxConnections: 12, maxPendingRequests: 4294967295 });
  expect(limits(ingress.get("inbound|9001||"))).toMatchObject({ maxPendingRequests: 33 });
  const silent = sidecar(`ingress:
  - {port: {number: 8080, protocol: HTTP, name: a}, defaultEndpoint: "127.0.0.1:1"}
  - {port: {number: 9001, protocol: TCP, name: b}, defaultEndpoint: "127.0.0.1:2"}`);
  const mesh = "defaultTrafficPolicy: {connectionPool: {tcp: {maxConnections: 5}}}";
  const byService = inbound(silent + rule, { mesh });
  expect(limits(byService.get("inbound|8080||"))?.maxConnections).toBe(7);
  expect(limits(byService.get("inbound|9001||"))?.maxConnections).toBe(5);
});

test("of two services on one target port the oldest decides what is spoken", () => {
  const younger = SERVICE.replaceAll("name: web,", "name: zzz,")
    .replaceAll("web.default", "zzz.default")
    .replaceAll("protocol: HTTP,", "protocol: GRPC,");
  const cluster = inbound(`${SERVICE}---${younger}`).get("inbound|8080||");
  expect(cluster).not.toHaveProperty("typedExtensionProtocolOptions");
});
