import { describe, expect, test } from "vitest";
import { discoveryCases } from "../../../test/conformance/golden-data.ts";
import {
  destinationRule,
  httpService,
  scopeOf,
  sidecar,
  virtualService,
} from "../../../test/support/discovery/routes.ts";
import { viewOfCase } from "../../../test/support/mesh-model/view-of-case.ts";
import { createResourceSource } from "../create-resource-source.ts";
import { generateEndpoints } from "../endpoints/load-assignment.ts";
import { generateGrpcRoute } from "../grpc-resources.ts";
import type { ResourceProblem } from "../resource-problems.ts";
import { generateGrpcClusters } from "./clusters.ts";
import { fullHost, generateGrpcListeners, parseTarget } from "./listeners.ts";

test("the captured transport sockets of a proxyless client: older gRPC libraries find their members as well", () => {
  const golden = discoveryCases().find(({ name }) => name === "grpc-proxyless-client");
  if (golden === undefined) return;
  const view = viewOfCase(golden.configYaml, golden.meshYaml, golden.node as never);
  const names = golden.clusters.map(({ name }) => String(name));
  const sockets = generateGrpcClusters(view.outbound, names).map(({ transportSocket }) => transportSocket);
  expect(sockets).toEqual(golden.clusters.map(({ transportSocket }) => transportSocket));
});

const GRPC = { metadata: { GENERATOR: "grpc" } };
const grpcService = (name: string, spec: object = {}) =>
  httpService(name, { ports: [{ number: 7070, name: "grpc", protocol: "GRPC" }], ...spec });
const WEB = "web.default.svc.cluster.local";

/** A workload that serves the ports of the services at its address. */
function viewOf(objects: readonly object[], metadata: object = {}) {
  return viewOfCase(objects.map((entry) => JSON.stringify(entry)).join("\n---\n"), undefined, {
    id: "sidecar~10.10.0.1~web.default~default.svc.cluster.local",
    metadata: {
      NAMESPACE: "default",
      GENERATOR: "grpc",
      INSTANCE_IPS: "10.10.0.1",
      CLUSTER_ID: "Kubernetes",
      ...metadata,
    },
  });
}

describe("targets of clients", () => {
  test.each([
    ["web", WEB],
    ["web.default", WEB],
    ["web.default.svc", WEB],
    ["web.prod", "web.prod"],
    ["web.default.svc.cluster.local", WEB],
    ["web.example.com", "web.example.com"],
  ])("%s means %s", (spelling, host) => {
    expect(fullHost(spelling, "default.svc.cluster.local")).toBe(host);
  });

  test.each([
    ["web:7070", { spelling: "web", port: 7070 }],
    ["web", { spelling: "web" }],
    ["web:port", { spelling: "web:port" }],
    ["", { spelling: "" }],
  ])("%j", (name, target) => {
    expect(parseTarget(name)).toEqual(target);
  });

  test("a target without port has a listener per port, one with an unknown port none", () => {
    const ports = [7070, 7071].map((number) => ({ number, name: `grpc-${number}`, protocol: "GRPC" }));
    const view = viewOf([grpcService("web", { ports })]);
    const names = (...asked: string[]) => generateGrpcListeners(view, asked).map(({ name }) => name);
    expect(names("web")).toEqual(["web:7070", "web:7071"]);
    expect(names("web:7072", "gone:7070")).toEqual([]);
    expect(names("web:7070", "web:7070")).toEqual(["web:7070"]);
    expect(names()).toEqual([`${WEB}:7070`, `${WEB}:7071`]);
  });

  test("a port that does not carry HTTP has a listener without routes: calls fail at once", () => {
    const view = viewOf([grpcService("web", { ports: [{ number: 9090, name: "tcp", protocol: "TCP" }] })]);
    expect(generateGrpcListeners(view, ["web", "web:9090"]).map(({ name }) => name)).toEqual(["web:9090"]);
    expect(generateGrpcListeners(view, []).map(({ name }) => name)).toEqual([`${WEB}:9090`]);
    expect(generateGrpcRoute(view.outbound, `outbound|9090||${WEB}`)).toEqual({ name: `outbound|9090||${WEB}` });
  });
});

describe("listeners of servers", () => {
  const PREFIX = "xds.istio.io/grpc/lds/inbound/";
  const policy = (mode: string) => ({
    apiVersion: "security.istio.io/v1",
    kind: "PeerAuthentication",
    metadata: { name: "default", namespace: "default" },
    spec: { mtls: { mode } },
  });
  const serve = (name: string, objects: readonly object[] = [], metadata: object = {}) =>
    generateGrpcListeners(viewOf([grpcService("web"), ...objects], metadata), [PREFIX + name])[0];

  test("carry nothing that gRPC would refuse", () => {
    expect(serve("0.0.0.0:7070")).toEqual({
      name: `${PREFIX}0.0.0.0:7070`,
      address: { socketAddress: { address: "0.0.0.0", portValue: 7070 } },
      filterChains: [
        { name: "inbound-plaintext", filters: [{ name: "inbound-hcmplaintext", typedConfig: expect.anything() }] },
      ],
    });
  });

  test("forward nothing, by one virtual host without a name, as other control planes have it", () => {
    const [manager] = serve("0.0.0.0:7070")?.filterChains?.[0]?.filters ?? [];
    expect(manager?.typedConfig).toMatchObject({
      routeConfig: {
        name: "inbound",
        virtualHosts: [{ domains: ["*"], routes: [{ match: { prefix: "/" }, nonForwardingAction: {} }] }],
      },
    });
    expect(manager?.typedConfig).not.toHaveProperty("routeConfig.virtualHosts.0.name");
  });

  test("at an IPv6 address", () => {
    expect(serve("[::]:7070")?.address).toEqual({ socketAddress: { address: "::", portValue: 7070 } });
  });

  test.each([
    ["0.0.0.0:7071", "no service of the workload leads to port 7071"],
    ["0.0.0.0", "0.0.0.0 is not an address and a port"],
    ["nowhere:7070", "nowhere:7070 is not an address and a port"],
    ["0.0.0.0:99999", "no service of the workload leads to port 99999"],
    ["", " is not an address and a port"],
  ])("there is none for %j, and the reason is reported", (name, reason) => {
    const problems: ResourceProblem[] = [];
    const source = createResourceSource({ onProblem: (problem) => problems.push(problem) });
    const resource = PREFIX + name;
    expect(source.named(viewOf([grpcService("web")]), "LDS", [resource]).resources).toEqual([]);
    expect(problems).toEqual([{ effect: "not-there", type: "LDS", resource, reason }]);
  });

  const labelled = { LABELS: { "security.istio.io/tlsMode": "istio" } };
  test.each([
    { mode: "STRICT", metadata: {}, chain: "inbound-mtls" },
    { mode: "PERMISSIVE", metadata: {}, chain: "inbound-plaintext" },
    { mode: "PERMISSIVE", metadata: labelled, chain: "inbound-mtls" },
    { mode: "DISABLE", metadata: labelled, chain: "inbound-plaintext" },
  ])("$mode with $metadata is $chain", ({ mode, metadata, chain }) => {
    const [only] = serve("10.10.0.1:7070", [policy(mode)], metadata)?.filterChains ?? [];
    expect(only?.name).toBe(chain);
    expect(only?.transportSocket !== undefined).toBe(chain === "inbound-mtls");
    expect(only?.filterChainMatch).toBeUndefined();
  });
});

describe("clusters of clients", () => {
  const clusterOf = (policy: object, name = `outbound|7070||${WEB}`) => {
    const rule = destinationRule("web", {
      trafficPolicy: policy,
      subsets: [{ name: "v1", labels: { version: "v1" } }],
    });
    return generateGrpcClusters(scopeOf([grpcService("web"), rule], GRPC), [name])[0];
  };
  const balanced = (loadBalancer: object) => clusterOf({ loadBalancer });

  test.each([
    [{ simple: "ROUND_ROBIN" }, undefined],
    [{ simple: "RANDOM" }, undefined],
    [{ simple: "LEAST_REQUEST" }, "LEAST_REQUEST"],
    [{ consistentHash: { httpHeaderName: "x" } }, "RING_HASH"],
    [{ consistentHash: { httpHeaderName: "x", maglev: { tableSize: 101 } } }, "RING_HASH"],
  ])("%j is %j", (loadBalancer, expected) => {
    expect(balanced(loadBalancer)?.lbPolicy).toBe(expected);
  });

  test.each([
    ["ISTIO_MUTUAL", true],
    ["DISABLE", false],
    ["SIMPLE", false],
  ])("TLS by the mesh's certificates for %s: %s", (mode, isMutual) => {
    expect(clusterOf({ tls: { mode } })?.transportSocket !== undefined).toBe(isMutual);
  });

  test("names of the rule count instead of those of the endpoints", () => {
    const socket = clusterOf({ tls: { mode: "ISTIO_MUTUAL", subjectAltNames: ["spiffe://a/b"] } })?.transportSocket;
    expect(JSON.stringify(socket)).toContain('"matchSubjectAltNames":[{"exact":"spiffe://a/b"}]');
  });

  test.each([`outbound|7070|v2|${WEB}`, `outbound|7071||${WEB}`, "outbound|7070||gone", `inbound|7070||`, "x"])(
    "there is none for %s",
    (name) => {
      expect(clusterOf({ tls: { mode: "DISABLE" } }, name)).toBeUndefined();
    },
  );
});

describe("routes of clients", () => {
  const to = { route: [{ destination: { host: "web" } }] };

  test("have no settings of filters that gRPC lacks", () => {
    const entry = {
      ...to,
      corsPolicy: { allowOrigins: [{ exact: "*" }] },
      fault: { abort: { grpcStatus: "ABORTED" } },
    };
    const scope = scopeOf([grpcService("web"), virtualService("web", { http: [entry] })], GRPC);
    const [route] = generateGrpcRoute(scope, `outbound|7070||${WEB}`).virtualHosts?.[0]?.routes ?? [];
    expect(Object.keys(route?.typedPerFilterConfig ?? {})).toEqual(["envoy.filters.http.fault"]);
  });

  test("follow the rules of the egress listener that shows the host", () => {
    const rule = virtualService("web", { http: [{ name: "ruled", ...to }] });
    const limits = sidecar("s", { egress: [{ hosts: [`./${WEB}`] }] });
    const scope = scopeOf([grpcService("web"), grpcService("b"), rule, limits], GRPC);
    expect(generateGrpcRoute(scope, `outbound|7070||${WEB}`).virtualHosts?.[0]?.routes?.[0]?.name).toBe("ruled");
    expect(generateGrpcRoute(scope, "outbound|7070||b.default.svc.cluster.local")).toEqual({
      name: "outbound|7070||b.default.svc.cluster.local",
    });
  });

  test.each(["x", `outbound|7070|v1|${WEB}`, `outbound|1||${WEB}`, "8080"])("there are none for %s", (name) => {
    expect(generateGrpcRoute(scopeOf([grpcService("web")], GRPC), name)).toEqual({ name });
  });
});

test("endpoints that are names are left out: gRPC would refuse those that are addresses with them", () => {
  const spec = {
    hosts: ["out.example"],
    resolution: "DNS",
    ports: [{ number: 80, name: "grpc", protocol: "GRPC" }],
    endpoints: [{ address: "a.example" }, { address: "10.0.0.1" }],
  };
  const metadata = { name: "out", namespace: "default" };
  const yaml = JSON.stringify({ apiVersion: "networking.istio.io/v1", kind: "ServiceEntry", metadata, spec });
  const addressesFor = (generator: string) => {
    const node = {
      id: "sidecar~10.0.0.9~a.default~default.svc.cluster.local",
      metadata: { NAMESPACE: "default", INSTANCE_IPS: "10.0.0.9", GENERATOR: generator },
    };
    const { endpoints = [] } = generateEndpoints(
      viewOfCase(yaml, undefined, node).outbound,
      "outbound|80||out.example",
    );
    return endpoints
      .flatMap(({ lbEndpoints = [] }) => lbEndpoints)
      .map(({ endpoint }) => endpoint?.address?.socketAddress?.address);
  };
  expect(addressesFor("grpc")).toEqual(["10.0.0.1"]);
  expect(addressesFor("")).toEqual(["a.example", "10.0.0.1"]);
});
