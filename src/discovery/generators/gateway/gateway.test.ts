import { describe, expect, test } from "vitest";
import type { Listener } from "../../../protocol/gen/envoy/config/listener/v3.ts";
import type { HttpConnectionManager } from "../../../protocol/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import type { TcpProxy } from "../../../protocol/gen/envoy/extensions/filters/network/tcp_proxy/v3.ts";
import type { DownstreamTlsContext } from "../../../protocol/gen/envoy/extensions/transport_sockets/tls/v3.ts";
import { viewOfCase } from "../../testing/view-of-case.ts";
import { clustersOfService, generateInboundClusters } from "../clusters.ts";
import { generateEndpoints } from "../endpoints.ts";
import { generateGatewayListeners, generateGatewayRoute } from "./index.ts";

type Json = Readonly<Record<string, unknown>>;

const object = (kind: string, name: string, spec: Json, namespace = "default", api = "networking.istio.io/v1") =>
  JSON.stringify({ apiVersion: api, kind, metadata: { name, namespace }, spec });

const service = (name: string, ports: readonly (readonly [number, string])[], more: Json = {}) =>
  object("ServiceEntry", name, {
    hosts: [`${name}.default.svc.cluster.local`],
    location: "MESH_INTERNAL",
    resolution: "STATIC",
    ports: ports.map(([number, protocol]) => ({ number, name: `p${number}`, protocol })),
    endpoints: [{ address: "10.10.0.1", serviceAccount: name }],
    ...more,
  });

const SERVICES = [service("web", [[80, "HTTP"]]), service("db", [[9000, "TCP"]]), service("tls", [[443, "TLS"]])];
const WEB = "outbound|80||web.default.svc.cluster.local";
const DB = "outbound|9000||db.default.svc.cluster.local";

const gateway = (servers: readonly Json[], name = "edge", more: Json = {}) =>
  object("Gateway", name, { selector: { app: "edge" }, servers, ...more });
const server = (number: number, protocol: string, hosts: readonly string[], more: Json = {}) => ({
  port: { number, name: `${protocol.toLowerCase()}-${number}`, protocol },
  hosts,
  ...more,
});
const rule = (name: string, hosts: readonly string[], spec: Json, namespace = "default") =>
  object("VirtualService", name, { hosts, gateways: ["default/edge"], ...spec }, namespace);
const toWeb = { http: [{ route: [{ destination: { host: "web.default.svc.cluster.local" } }] }] };
const at = (prefix: string) => ({
  http: [{ match: [{ uri: { prefix } }], route: [{ destination: { host: "web.default.svc.cluster.local" } }] }],
});

function scopeOf(objects: readonly string[], metadata: Json = {}, mesh?: string) {
  const node = {
    id: "router~10.10.9.1~edge-0.default~default.svc.cluster.local",
    metadata: { NAMESPACE: "default", INSTANCE_IPS: "10.10.9.1", LABELS: { app: "edge", other: "1" }, ...metadata },
  };
  return viewOfCase([...SERVICES, ...objects].join("\n---\n"), mesh, node);
}

const listenersOf = (...objects: readonly string[]) => generateGatewayListeners(scopeOf(objects).outbound);
const places = (listeners: readonly Listener[]) => listeners.map(({ name }) => name);
const filter = (listener: Listener | undefined, chain = 0) =>
  listener?.filterChains?.[chain]?.filters?.at(-1)?.typedConfig;
const manager = (listener: Listener | undefined, chain = 0) => filter(listener, chain) as HttpConnectionManager;
const namesOf = (listener: Listener | undefined) =>
  listener?.filterChains?.map(({ filterChainMatch }) => filterChainMatch?.serverNames ?? []);

function hostsOf(name: string, ...objects: readonly string[]) {
  const { virtualHosts = [] } = generateGatewayRoute(scopeOf(objects).outbound, name);
  return Object.fromEntries(
    virtualHosts.map(({ name: host = "", routes = [], requireTls }) => [
      host,
      [...routes.map(({ match }) => match?.prefix ?? ""), ...(requireTls === undefined ? [] : [requireTls])],
    ]),
  );
}

describe("which Gateways a router follows", () => {
  test.each([
    { selector: { app: "edge" }, gives: ["0.0.0.0_80"] },
    { selector: { app: "edge", other: "1" }, gives: ["0.0.0.0_80"] },
    { selector: {}, gives: ["0.0.0.0_80"] },
    { selector: { app: "edge", other: "2" }, gives: [] },
  ])("$selector: $gives", ({ selector, gives }) => {
    const { listeners } = listenersOf(gateway([server(80, "HTTP", ["*"])], "edge", { selector }));
    expect(places(listeners)).toEqual(gives);
  });

  test("a sidecar of the same labels follows none", () => {
    const node = {
      id: "sidecar~10.10.9.1~edge-0.default~default.svc.cluster.local",
      metadata: { NAMESPACE: "default", INSTANCE_IPS: "10.10.9.1", LABELS: { app: "edge" } },
    };
    const config = [...SERVICES, gateway([server(80, "HTTP", ["*"])])].join("\n---\n");
    expect(viewOfCase(config, undefined, node).outbound.gateways).toBeUndefined();
  });
});

describe("servers that share a port", () => {
  const https = (name: string, hosts: readonly string[], tls: Json = { mode: "SIMPLE", credentialName: name }) => ({
    port: { number: 443, name, protocol: "HTTPS" },
    hosts,
    tls,
  });

  test("plain HTTP is one manager with the routes of all", () => {
    const objects = [
      gateway([server(80, "HTTP", ["a.example"])]),
      gateway([server(80, "HTTP2", ["b.example"])], "edge2"),
      rule("v", ["a.example", "b.example"], { ...toWeb, gateways: ["edge", "edge2"] }),
    ];
    const { listeners, problems } = listenersOf(...objects);
    expect(problems).toEqual([]);
    expect(listeners).toHaveLength(1);
    expect(listeners[0]?.filterChains).toHaveLength(1);
    expect(manager(listeners[0]).rds?.routeConfigName).toBe("http.80");
    expect(Object.keys(hostsOf("http.80", ...objects))).toEqual(["a.example:80", "b.example:80"]);
  });

  test("TLS is told apart by server names, with routes for each", () => {
    const { listeners } = listenersOf(gateway([https("one", ["a.example"]), https("two", ["b.example"])]));
    expect(namesOf(listeners[0])).toEqual([["a.example"], ["b.example"]]);
    expect([0, 1].map((chain) => manager(listeners[0], chain).rds?.routeConfigName)).toEqual([
      "https.443.one.edge.default",
      "https.443.two.edge.default",
    ]);
    expect(listeners[0]?.listenerFilters?.map(({ name }) => name)).toEqual(["envoy.filters.listener.tls_inspector"]);
  });

  test.each([
    {
      is: "TCP beside HTTP",
      second: server(443, "TCP", ["*"]),
      first: server(443, "HTTP", ["*"]),
      says: "TCP cannot share port 443 with HTTP of default/edge",
    },
    {
      is: "TLS beside HTTP",
      first: server(443, "HTTP", ["*"]),
      second: https("two", ["*"]),
      says: "HTTPS cannot share port 443 with HTTP of default/edge",
    },
    {
      is: "TCP twice",
      first: server(443, "TCP", ["*"]),
      second: server(443, "Mongo", ["*"]),
      says: "port 443 is taken by TCP of default/edge",
    },
    {
      is: "a server name twice",
      first: https("one", ["a.example"]),
      second: https("two", ["ns/a.example", "b.example"]),
      says: "a.example is already served on port 443",
    },
  ])("$is: the later one is left out and told", ({ first, second, says }) => {
    const { problems } = listenersOf(gateway([first, second]));
    expect(problems).toContain(`Gateway/default/edge: spec.servers[1]: ${says}`);
  });

  test("on addresses of their own they do not meet", () => {
    const servers = [
      server(80, "HTTP", ["*"], { bind: "10.1.1.1" }),
      { ...server(80, "TCP", ["*"]), bind: "10.1.1.2" },
      { ...server(80, "HTTP", ["*"]), port: { number: 80, name: "any", protocol: "HTTP" } },
    ];
    const tcp = rule("v", ["*"], { tcp: [{ route: [{ destination: { host: "db", port: { number: 9000 } } }] }] });
    const { listeners, problems } = listenersOf(gateway(servers), tcp);
    expect(problems).toEqual([]);
    expect(places(listeners)).toEqual(["10.1.1.1_80", "10.1.1.2_80", "0.0.0.0_80"]);
    expect(manager(listeners[0]).rds?.routeConfigName).toBe("http.80.10.1.1.1");
  });

  test("every address, said or not, is one place", () => {
    const objects = [
      gateway([
        server(80, "HTTP", ["a.example"], { bind: "0.0.0.0" }),
        { ...server(80, "HTTP", ["b.example"]), port: { number: 80, name: "other", protocol: "HTTP" } },
      ]),
      rule("v", ["*"], toWeb),
    ];
    expect(places(listenersOf(...objects).listeners)).toEqual(["0.0.0.0_80"]);
    expect(Object.keys(hostsOf("http.80.0.0.0.0", ...objects))).toEqual(["a.example:80", "b.example:80"]);
  });
});

describe("where a router listens", () => {
  test("behind a service, on the ports that the service leads to", () => {
    const front = object("ServiceEntry", "front", {
      hosts: ["front.example"],
      resolution: "STATIC",
      location: "MESH_INTERNAL",
      ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }],
      endpoints: [{ address: "10.10.9.1" }],
    });
    const objects = [front, gateway([server(80, "HTTP", ["*"])]), rule("v", ["*"], toWeb)];
    expect(places(listenersOf(...objects).listeners)).toEqual(["0.0.0.0_8080"]);
    expect(Object.keys(hostsOf("http.8080", ...objects))).toEqual(["*:80"]);
  });

  test("without privileges, not on low ports", () => {
    const { outbound } = scopeOf([gateway([server(80, "HTTP", ["*"]), server(8080, "HTTP", ["*"])])], {
      UNPRIVILEGED_POD: "true",
    });
    const { listeners, problems } = generateGatewayListeners(outbound);
    expect(places(listeners)).toEqual(["0.0.0.0_8080"]);
    expect(problems).toEqual(["Gateway/default/edge: spec.servers[0]: port 80 needs privileges"]);
  });

  test("on the addresses of its families", () => {
    const { outbound } = scopeOf([gateway([server(80, "HTTP", ["*"])])], { INSTANCE_IPS: "2001:db8::1" });
    expect(places(generateGatewayListeners(outbound).listeners)).toEqual(["::_80"]);
  });
});

describe("virtual hosts", () => {
  const http = (hosts: readonly string[], more: Json = {}) => gateway([server(80, "HTTP", hosts, more)]);

  test.each([
    { server: ["*"], ruled: ["a.example", "*.b"], gives: ["*.b:80", "a.example:80"] },
    { server: ["*.example"], ruled: ["a.example", "b.other"], gives: ["a.example:80"] },
    { server: ["a.b.example"], ruled: ["*.example"], gives: ["a.b.example:80"] },
    { server: ["*.sub.example"], ruled: ["*.example"], gives: ["*.sub.example:80"] },
    { server: ["A.Example"], ruled: ["a.example"], gives: ["a.example:80"] },
    { server: ["default/a.example"], ruled: ["a.example"], gives: ["a.example:80"] },
    { server: ["./a.example"], ruled: ["a.example"], gives: ["a.example:80"] },
    { server: ["prod/a.example"], ruled: ["a.example"], gives: ["blackhole:80"] },
    { server: ["a.example"], ruled: ["b.example"], gives: ["blackhole:80"] },
  ])("$server ruled for $ruled: $gives", ({ server: hosts, ruled, gives }) => {
    expect(Object.keys(hostsOf("http.80", http(hosts), rule("v", ruled, toWeb)))).toEqual(gives);
  });

  test("rules of one host are joined, and what takes every request comes last", () => {
    const objects = [http(["*"]), rule("a", ["x.example"], toWeb), rule("b", ["x.example"], at("/b"))];
    expect(hostsOf("http.80", ...objects)).toEqual({ "x.example:80": ["/b", "/"] });
  });

  test("a rule that two servers have is there once", () => {
    const objects = [
      gateway([
        server(80, "HTTP", ["x.example"]),
        { ...server(80, "HTTP", ["*.example"]), port: { number: 80, name: "two", protocol: "HTTP" } },
      ]),
      rule("a", ["x.example"], at("/a")),
    ];
    expect(hostsOf("http.80", ...objects)).toEqual({ "x.example:80": ["/a"] });
  });

  test("a redirect is for hosts without rules as well", () => {
    const objects = [http(["a.example", "*.b"], { tls: { httpsRedirect: true } }), rule("v", ["x.b"], toWeb)];
    expect(hostsOf("http.80", ...objects)).toEqual({
      "*.b:80": ["ALL"],
      "a.example:80": ["ALL"],
      "x.b:80": ["/", "ALL"],
    });
  });

  test.each([
    { is: "another gateway", match: { gateways: ["other"] }, routes: {} },
    { is: "sidecars", match: { gateways: ["mesh"] }, routes: {} },
    { is: "this gateway", match: { gateways: ["edge"] }, routes: { "x.example:80": ["/"] } },
    { is: "another port", match: { port: 81 }, routes: {} },
    { is: "its labels", match: { sourceLabels: { app: "edge" } }, routes: { "x.example:80": ["/"] } },
    { is: "other labels", match: { sourceLabels: { app: "web" } }, routes: {} },
  ])("a match for $is", ({ match, routes }) => {
    const spec = { http: [{ match: [match], route: [{ destination: { host: "web" } }] }], gateways: ["edge", "mesh"] };
    const made = hostsOf("http.80", http(["*"]), rule("v", ["x.example"], spec));
    expect(made).toEqual(Object.keys(routes).length === 0 ? { "blackhole:80": [] } : routes);
  });

  test("rules for the mesh alone, of others or hidden ones do not count", () => {
    const objects = [
      http(["*"]),
      rule("mesh", ["a.example"], { ...toWeb, gateways: ["mesh"] }),
      rule("other", ["b.example"], { ...toWeb, gateways: ["other"] }),
      rule("hidden", ["c.example"], { ...toWeb, exportTo: ["."] }, "prod"),
    ];
    expect(hostsOf("http.80", ...objects)).toEqual({ "blackhole:80": [] });
  });

  test("claims of tokens choose routes", () => {
    const headers = {
      "@request.auth.claims.group": { exact: "admin" },
      "@request.auth.claims[a][b]": { prefix: "x" },
    };
    const withoutHeaders = { "@request.auth.claims.sub": {} };
    const spec = { http: [{ match: [{ headers, withoutHeaders }], route: [{ destination: { host: "web" } }] }] };
    const { outbound } = scopeOf([http(["*"]), rule("v", ["x.example"], spec)]);
    const [host] = generateGatewayRoute(outbound, "http.80").virtualHosts ?? [];
    const either = (stringMatch: Json) => ({
      orMatch: { valueMatchers: [{ listMatch: { oneOf: { stringMatch } } }, { stringMatch }] },
    });
    const claim = (...path: string[]) => ({
      filter: "envoy.filters.http.jwt_authn",
      path: ["payload", ...path].map((key) => ({ key })),
    });
    expect(host?.routes?.[0]?.match).toEqual({
      prefix: "/",
      caseSensitive: true,
      dynamicMetadata: [
        { ...claim("group"), value: either({ exact: "admin" }) },
        { ...claim("a", "b"), value: either({ prefix: "x" }) },
        { ...claim("sub"), value: { presentMatch: true }, invert: true },
      ],
    });
  });

  test("names that no listener has give no virtual hosts", () => {
    expect(generateGatewayRoute(scopeOf([http(["*"])]).outbound, "80").virtualHosts).toBeUndefined();
  });
});

describe("TLS that a router ends", () => {
  const contextOf = (tls: Json) => {
    const { listeners, problems } = listenersOf(gateway([server(443, "HTTPS", ["a.example"], { tls })]));
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

  test("a credential that nobody keeps is told", () => {
    expect(contextOf({ mode: "SIMPLE", credentialName: "c" }).problems).toEqual([
      'Gateway default/edge: port 443: no credential "c": none are stored here; name files with serverCertificate and privateKey',
    ]);
    expect(contextOf({ mode: "SIMPLE", ...files }).problems).toEqual([]);
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
