import { describe, expect, test } from "vitest";
import {
  at,
  gateway,
  hostsOf,
  type Json,
  listenersOf,
  manager,
  merged,
  namesOf,
  object,
  rule,
  SERVICES,
  scopeOf,
  server,
  toWeb,
} from "../../../test/support/mesh-model/router-view.ts";
import { viewOfCase } from "../../../test/support/mesh-model/view-of-case.ts";
import { generateGatewayListeners } from "./gateway-listeners.ts";
import { generateGatewayRoute } from "./gateway-routes.ts";

describe("which Gateways a router follows", () => {
  test.each([
    { selector: { app: "edge" }, gives: ["0.0.0.0_80"] },
    { selector: { app: "edge", other: "1" }, gives: ["0.0.0.0_80"] },
    { selector: {}, gives: ["0.0.0.0_80"] },
    { selector: { app: "edge", other: "2" }, gives: [] },
  ])("$selector: $gives", ({ selector, gives }) => {
    const { listeners } = listenersOf(gateway([server(80, "HTTP", ["*"])], "edge", { selector }));
    expect(merged(listeners)).toEqual(gives);
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

  test("TLS is distinguished by server names, with routes for each", () => {
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
  ])("$is: the later one is left out and reported", ({ first, second, says }) => {
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
    expect(merged(listeners)).toEqual(["10.1.1.1_80", "10.1.1.2_80", "0.0.0.0_80"]);
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
    expect(merged(listenersOf(...objects).listeners)).toEqual(["0.0.0.0_80"]);
    expect(domainsOf("http.80.0.0.0.0", ...objects)).toEqual({ "a.example:80": ["a.example", "b.example"] });
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
    expect(merged(listenersOf(...objects).listeners)).toEqual(["0.0.0.0_8080"]);
    expect(Object.keys(hostsOf("http.8080", ...objects))).toEqual(["*:80"]);
  });

  test("without privileges, not on low ports", () => {
    const { outbound } = scopeOf([gateway([server(80, "HTTP", ["*"]), server(8080, "HTTP", ["*"])])], {
      UNPRIVILEGED_POD: "true",
    });
    const { listeners, problems } = generateGatewayListeners(outbound);
    expect(merged(listeners)).toEqual(["0.0.0.0_8080"]);
    expect(problems).toEqual(["Gateway/default/edge: spec.servers[0]: port 80 needs privileges"]);
  });

  test("not where the proxy itself does", () => {
    const { outbound } = scopeOf([gateway([server(15021, "HTTP", ["*"])])]);
    const { listeners, problems } = generateGatewayListeners(outbound);
    expect(listeners).toEqual([]);
    expect(problems).toEqual(["Gateway/default/edge: spec.servers[0]: the proxy itself listens on port 15021"]);
  });

  test("on the addresses of its families", () => {
    const { outbound } = scopeOf([gateway([server(80, "HTTP", ["*"])])], { INSTANCE_IPS: "2001:db8::1" });
    expect(merged(generateGatewayListeners(outbound).listeners)).toEqual(["::_80"]);
  });
});

function domainsOf(route: string, ...objects: readonly string[]) {
  const { virtualHosts = [] } = generateGatewayRoute(scopeOf(objects).outbound, route);
  return Object.fromEntries(virtualHosts.map(({ name = "", domains }) => [name, domains]));
}

describe("virtual hosts", () => {
  const http = (hosts: readonly string[], more: Json = {}) => gateway([server(80, "HTTP", hosts, more)]);

  test.each([
    { server: ["*"], ruled: ["a.example", "*.b"], gives: ["a.example:80"] },
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

  test("hosts of one virtual host have the same routes, of all servers of a gateway", () => {
    const two = { ...server(80, "HTTP", ["*.b"]), port: { number: 80, name: "two", protocol: "HTTP" } };
    const objects = [
      gateway([server(80, "HTTP", ["*.example"]), two]),
      rule("v", ["longer.example", "a.example", "x.b"], toWeb),
      rule("w", ["a.example"], at("/a")),
    ];
    expect(domainsOf("http.80", ...objects)).toEqual({
      "a.example:80": ["a.example"],
      "longer.example:80": ["longer.example", "x.b"],
    });
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

  test("a redirect to the port that TLS has anyway does not name it", () => {
    const tls = { mode: "SIMPLE", serverCertificate: "/c", privateKey: "/k" };
    const redirect = rule("v", ["a.example"], { http: [{ redirect: { uri: "/x", port: 443 } }] });
    const { outbound } = scopeOf([gateway([server(443, "HTTPS", ["a.example"], { tls })]), redirect]);
    const { virtualHosts = [] } = generateGatewayRoute(outbound, "https.443.https-443.edge.default");
    expect(virtualHosts[0]?.routes?.[0]?.redirect).toEqual({ pathRedirect: "/x" });
  });

  test("a redirect is for hosts without rules as well", () => {
    const objects = [http(["a.example", "*.b"], { tls: { httpsRedirect: true } }), rule("v", ["x.b"], toWeb)];
    expect(hostsOf("http.80", ...objects)).toEqual({ "a.example:80": ["ALL"], "x.b:80": ["/", "ALL"] });
    expect(domainsOf("http.80", ...objects)).toEqual({ "a.example:80": ["a.example", "*.b"], "x.b:80": ["x.b"] });
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
