import { describe, expect, test } from "vitest";
import {
  DB,
  filter,
  gateway,
  type Json,
  listenersOf,
  manager,
  namesOf,
  object,
  rule,
  scopeOf,
  server,
  WEB,
} from "../../../test/support/mesh-model/router-view.ts";
import type { ClusterLoadAssignment } from "../../protobuf/gen/envoy/config/endpoint/v3.ts";
import type { TcpProxy } from "../../protobuf/gen/envoy/extensions/filters/network/tcp_proxy/v3.ts";
import type { DownstreamTlsContext } from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";
import { clustersOfService, generateInboundClusters, generateOutboundClusters } from "../clusters/generate-clusters.ts";
import { generateEndpoints } from "../endpoints/load-assignment.ts";
import { generateGatewayListeners } from "./gateway-listeners.ts";

describe("TLS that a router ends", () => {
  const contextOf = (tls: Json, mesh?: string) => {
    const { outbound } = scopeOf([gateway([server(443, "HTTPS", ["a.example"], { tls })])], {}, mesh);
    const { listeners, problems } = generateGatewayListeners(outbound);
    const socket = listeners[0]?.filterChains?.[0]?.transportSocket?.typedConfig as DownstreamTlsContext;
    const { combinedValidationContext: check, ...common } = socket.commonTlsContext ?? {};
    return {
      problems,
      requires: socket.requireClientCertificate,
      certificates: common.tlsCertificateSdsSecretConfigs?.map(({ name }) => name),
      roots: check?.validationContextSdsSecretConfig?.name,
      check: check?.defaultValidationContext,
      params: common.tlsParams,
    };
  };
  const files = { serverCertificate: "/c", privateKey: "/k" };

  test("the mesh's defaults are for servers that say nothing else, and not for TLS inside the mesh", () => {
    const mesh = "tlsDefaults: {minProtocolVersion: TLSV1_2, ecdhCurves: [P-256], cipherSuites: [A]}";
    const params = (tls: Json) => contextOf(tls, mesh).params;
    const defaults = { tlsMinimumProtocolVersion: "TLSv1_2", ecdhCurves: ["P-256"], cipherSuites: ["A"] };
    expect(params({ mode: "SIMPLE", ...files })).toEqual(defaults);
    expect(params({ mode: "SIMPLE", ...files, minProtocolVersion: "TLSV1_3" })).toEqual({
      ...defaults,
      tlsMinimumProtocolVersion: "TLSv1_3",
    });
    expect(params({ mode: "ISTIO_MUTUAL" })).toBeUndefined();
  });

  test.each([
    { tls: { mode: "SIMPLE", ...files }, certificates: ["file-cert:/c~/k"], roots: undefined, requires: false },
    {
      tls: { mode: "MUTUAL", ...files, caCertificates: "/ca" },
      certificates: ["file-cert:/c~/k"],
      roots: "file-root:/ca",
      requires: true,
    },
    {
      tls: { mode: "OPTIONAL_MUTUAL", credentialName: "c" },
      certificates: ["kubernetes://c"],
      roots: "kubernetes://c-cacert",
      requires: false,
    },
    {
      tls: { mode: "MUTUAL", credentialNames: ["c", "d"], caCertCredentialName: "e" },
      certificates: ["kubernetes://c", "kubernetes://d"],
      roots: "kubernetes://e",
      requires: true,
    },
    { tls: { mode: "ISTIO_MUTUAL" }, certificates: ["default"], roots: "ROOTCA", requires: true },
    {
      tls: { mode: "SIMPLE", tlsCertificates: [files, { serverCertificate: "/d", privateKey: "/l" }] },
      certificates: ["file-cert:/c~/k", "file-cert:/d~/l"],
      roots: undefined,
      requires: false,
    },
  ])("$tls", ({ tls, certificates, roots, requires }) => {
    expect(contextOf(tls)).toMatchObject({ certificates, roots, requires });
  });

  test("versions, ciphers and what clients must show", () => {
    const { params, check } = contextOf({
      mode: "MUTUAL",
      credentialName: "c",
      subjectAltNames: ["z.example"],
      verifyCertificateSpki: ["x"],
      verifyCertificateHash: ["y"],
      minProtocolVersion: "TLSV1_2",
      maxProtocolVersion: "TLSV1_3",
      cipherSuites: ["A", "B", "A"],
    });
    expect(params).toEqual({
      tlsMinimumProtocolVersion: "TLSv1_2",
      tlsMaximumProtocolVersion: "TLSv1_3",
      cipherSuites: ["A", "B"],
    });
    expect(check).toEqual({
      matchTypedSubjectAltNames: [{ sanType: "DNS", matcher: { exact: "z.example" } }],
      verifyCertificateSpki: ["x"],
      verifyCertificateHash: ["y"],
    });
  });
});

describe("without an HTTP layer", () => {
  const bytes = (match: readonly Json[] = []) => ({ match, route: [{ destination: { host: "db" } }] });
  const tcp = gateway([server(9000, "TCP", ["*"])]);
  const passing = gateway([server(443, "TLS", ["*"], { tls: { mode: "PASSTHROUGH" } })]);
  const toTls = [{ destination: { host: "tls" } }];

  test.each([
    { match: [], gives: [DB] },
    { match: [{ port: 9000 }], gives: [DB] },
    { match: [{ port: 9001 }], gives: [] },
    { match: [{ port: 9001 }, { gateways: ["edge"] }], gives: [DB] },
    { match: [{ gateways: ["mesh"] }], gives: [] },
  ])("a tcp route with $match: $gives", ({ match, gives }) => {
    const { listeners } = listenersOf(tcp, rule("v", ["*"], { tcp: [bytes(match)] }));
    expect(listeners.map((listener) => (filter(listener) as TcpProxy).cluster)).toEqual(gives);
  });

  test("TLS that is ended has its server names, and its bytes go by tcp routes", () => {
    const tls = { mode: "SIMPLE", serverCertificate: "/c", privateKey: "/k" };
    const ending = gateway([server(9000, "TLS", ["a.example"], { tls })]);
    const { listeners } = listenersOf(ending, rule("v", ["a.example"], { tcp: [bytes()] }));
    expect(namesOf(listeners[0])).toEqual([["a.example"]]);
    expect((filter(listeners[0]) as TcpProxy).cluster).toBe(DB);
    expect(listeners[0]?.filterChains?.[0]?.transportSocket).toBeDefined();
  });

  test("TLS that is passed on goes by server names, each of them once", () => {
    const routes = [["a.example"], ["b.example", "a.example"], ["a.example"]].map((sniHosts) => ({
      match: [{ sniHosts }],
      route: toTls,
    }));
    const { listeners } = listenersOf(passing, rule("v", ["a.example", "b.example"], { tls: routes }));
    expect(namesOf(listeners[0])).toEqual([["a.example"], ["b.example"]]);
    expect(listeners[0]?.filterChains?.[0]?.transportSocket).toBeUndefined();
    expect((filter(listeners[0]) as TcpProxy).cluster).toBe("outbound|443||tls.default.svc.cluster.local");
  });

  test("nothing to be done with connections: no listener", () => {
    expect(listenersOf(tcp, passing).listeners).toEqual([]);
  });

  test("proxies of other networks name the cluster they want", () => {
    const external = object("ServiceEntry", "out", {
      hosts: ["out.local"],
      location: "MESH_EXTERNAL",
      resolution: "STATIC",
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      endpoints: [{ address: "10.0.0.9" }],
    });
    const subsets = object("DestinationRule", "db", { host: "db", subsets: [{ name: "v1", labels: {} }] });
    const auto = gateway([server(15443, "TLS", ["*.local"], { tls: { mode: "AUTO_PASSTHROUGH" } })]);
    const { outbound } = scopeOf([external, subsets, auto]);
    const [listener] = generateGatewayListeners(outbound).listeners;
    const name = "outbound_.9000_.v1_.db.default.svc.cluster.local";
    expect(namesOf(listener)?.flat()).toEqual(
      expect.arrayContaining([name, "outbound_.80_._.web.default.svc.cluster.local"]),
    );
    expect(namesOf(listener)?.flat().join()).not.toContain("out.local");
    const clusters = outbound.services.flatMap((one) => clustersOfService(outbound, one));
    const cluster = clusters.find((one) => one.name === name);
    expect(cluster).toMatchObject({ type: "EDS" });
    expect(cluster).not.toHaveProperty("transportSocketMatches");
    expect(generateEndpoints(outbound, name)).toMatchObject({ clusterName: name });
    expect(clusters.some((one) => one.name?.includes("_.out.local"))).toBe(false);
  });

  test("TLS that is passed on reaches no endpoint without mutual TLS, which would answer anybody", () => {
    const endpoints = [{ address: "10.0.0.1", serviceAccount: "a" }, { address: "10.0.0.2" }];
    const named = [{ address: "a.local", serviceAccount: "a" }, { address: "b.local" }];
    const entry = (name: string, resolution: string, spec: Json) =>
      object("ServiceEntry", name, {
        hosts: [`${name}.local`],
        location: "MESH_INTERNAL",
        resolution,
        ports: [{ number: 80, name: "p", protocol: "TCP" }],
        ...spec,
      });
    const { outbound } = scopeOf([
      entry("fixed", "STATIC", { endpoints }),
      entry("named", "DNS", { endpoints: named }),
      entry("plain", "DNS", { endpoints: named.slice(1) }),
      gateway([server(15443, "TLS", ["*.local"], { tls: { mode: "AUTO_PASSTHROUGH" } })]),
    ]);
    const countOf = (assignment: ClusterLoadAssignment | undefined) =>
      assignment?.endpoints?.flatMap(({ lbEndpoints = [] }) => lbEndpoints).length;
    expect(countOf(generateEndpoints(outbound, "outbound_.80_._.fixed.local"))).toBe(1);
    expect(countOf(generateEndpoints(outbound, "outbound|80||fixed.local"))).toBe(2);
    const clusters = new Map(generateOutboundClusters(outbound).map((one) => [one.name, one]));
    expect(countOf(clusters.get("outbound_.80_._.named.local")?.loadAssignment)).toBe(1);
    expect(countOf(clusters.get("outbound|80||named.local")?.loadAssignment)).toBe(2);
    expect(clusters.has("outbound_.80_._.plain.local")).toBe(false);
  });
});

describe("what surrounds the routes", () => {
  const http = gateway([server(80, "HTTP", ["*"])]);

  test("clients are strangers: their address is the connection's, and their word on certificates does not count", () => {
    expect(manager(listenersOf(http).listeners[0])).toMatchObject({
      useRemoteAddress: true,
      forwardClientCertDetails: "SANITIZE_SET",
      setCurrentClientCertDetails: { subject: true, cert: true, dns: true, uri: true },
      serverName: "istio-envoy",
    });
  });

  const MESH = "defaultConfig: {gatewayTopology: {numTrustedProxies: 2, forwardClientCertDetails: APPEND_FORWARD}}\n";
  test.each([
    { is: "the mesh", metadata: {}, hops: 2, forward: "APPEND_FORWARD", filters: [] },
    {
      is: "the router, before the mesh",
      metadata: {
        PROXY_CONFIG: {
          gatewayTopology: { numTrustedProxies: 1, forwardClientCertDetails: "FORWARD_ONLY", proxyProtocol: {} },
        },
      },
      hops: 1,
      forward: "FORWARD_ONLY",
      filters: ["envoy.filters.listener.proxy_protocol"],
    },
    {
      is: "a router that says nothing of it",
      metadata: { PROXY_CONFIG: {} },
      hops: undefined,
      forward: "SANITIZE_SET",
    },
  ])("proxies in front, by $is", ({ metadata, hops, forward, filters = [] }) => {
    const [listener] = generateGatewayListeners(scopeOf([http], metadata, MESH).outbound).listeners;
    const { xffNumTrustedHops, forwardClientCertDetails } = manager(listener);
    expect({ xffNumTrustedHops, forwardClientCertDetails }).toEqual({
      xffNumTrustedHops: hops,
      forwardClientCertDetails: forward,
    });
    expect((listener?.listenerFilters ?? []).map(({ name }) => name)).toEqual(filters);
  });

  test("rules on callers are for routers that they select", () => {
    const deny = (name: string, app: string) =>
      object(
        "AuthorizationPolicy",
        name,
        { selector: { matchLabels: { app } }, action: "DENY", rules: [{}] },
        "default",
        "security.istio.io/v1",
      );
    const filters = (...objects: readonly string[]) =>
      manager(listenersOf(http, ...objects).listeners[0]).httpFilters?.map(({ name }) => name);
    expect(filters(deny("a", "edge"))).toContain("envoy.filters.http.rbac");
    expect(filters(deny("a", "web"))).not.toContain("envoy.filters.http.rbac");
  });

  test("a router has no inbound side, and a cluster that ends connections", () => {
    expect(generateInboundClusters(scopeOf([http])).map(({ name }) => name)).toEqual(["BlackHoleCluster"]);
  });

  test("what a destination's rule calls a credential, a router may ask for", () => {
    const tls = { mode: "MUTUAL", credentialName: "up" };
    const { outbound } = scopeOf([object("DestinationRule", "web", { host: "web", trafficPolicy: { tls } })]);
    const clusters = outbound.services.flatMap((one) => clustersOfService(outbound, one));
    const socket = clusters.find(({ name }) => name === WEB)?.transportSocket?.typedConfig;
    expect(JSON.stringify(socket)).toContain('"kubernetes://up"');
    expect(JSON.stringify(socket)).toContain('"kubernetes://up-cacert"');
  });
});

test("a headless service without endpoints has no one whom a router could ask for a certificate", () => {
  const headless = (endpoints: readonly Json[]) => {
    const spec = {
      hosts: ["h.default"],
      location: "MESH_INTERNAL",
      ports: [{ number: 80, name: "p", protocol: "HTTP" }],
    };
    const selecting = { ...spec, resolution: "NONE", workloadSelector: { labels: { app: "h" } } };
    const entries = endpoints.map((entry, index) =>
      object("WorkloadEntry", `w${index}`, { ...entry, labels: { app: "h" } }),
    );
    const { outbound } = scopeOf([object("ServiceEntry", "h", selecting), ...entries]);
    const service = outbound.service("h.default");
    return (service === undefined ? [] : clustersOfService(outbound, service)).map(
      ({ transportSocketMatches = [] }) => transportSocketMatches.length,
    );
  };
  expect(headless([])).toEqual([0]);
  expect(headless([{ address: "10.0.0.1", serviceAccount: "h" }])).toEqual([2]);
});
