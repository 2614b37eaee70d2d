import { describe, expect, test } from "vitest";
import { entry, outbound } from "../../../test/support/discovery/listeners.ts";
import { destinationRule, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";

const VIP = { addresses: ["10.96.0.1"] };
const LEDGER = entry("ledger", "9000/TCP 9001/TCP", VIP);
const SITE = entry("site", "443/TLS");
const rule = (name: string, hosts: readonly string[], spec: object, created?: number): TestObject => ({
  kind: "VirtualService",
  name,
  ...(created !== undefined && { created }),
  spec: { hosts, ...spec },
});
const to = (host: string, subset?: string, weight?: number) => ({
  destination: { host, ...(subset && { subset }) },
  ...(weight !== undefined && { weight }),
});
const tcp = (...routes: readonly (readonly [readonly object[], ...object[]])[]) => ({
  tcp: routes.map(([match, ...route]) => ({ ...(match.length > 0 && { match }), route })),
});
const tls = (...routes: readonly (readonly [readonly object[], ...object[]])[]) => ({
  tls: routes.map(([match, ...route]) => ({ match, route })),
});
const V1 = "tcp outbound|9000|v1|ledger.example";
const OWN = "tcp outbound|9000||ledger.example";

describe("tcp routes", () => {
  test("several destinations by weight, those without weight left out", () => {
    const routes = tcp([
      [],
      to("ledger.example", "v1", 80),
      to("ledger.example", "v2", 20),
      to("ledger.example", "v3", 0),
    ]);
    expect(outbound([LEDGER, rule("r", ["ledger.example"], routes)]).call("10.96.0.1_9000")).toBe(
      "tcp outbound|9000|v1|ledger.example=80 outbound|9000|v2|ledger.example=20",
    );
  });

  test("one destination gets everything", () => {
    const routes = tcp([[], to("ledger.example", "v1", 100), to("ledger.example", "v2", 0)]);
    expect(outbound([LEDGER, rule("r", ["ledger.example"], routes)]).call("10.96.0.1_9000")).toBe(`${V1}=100`);
  });

  test.each([
    { match: { port: 9000 }, becomes: V1 },
    { match: { port: 9001 }, becomes: OWN },
    { match: { sourceLabels: { app: "web" } }, becomes: V1 },
    { match: { sourceLabels: { app: "other" } }, becomes: OWN },
    { match: { sourceNamespace: "default" }, becomes: V1 },
    { match: { sourceNamespace: "prod" }, becomes: OWN },
    { match: { gateways: ["mesh"] }, becomes: V1 },
    { match: { gateways: ["default/edge"] }, becomes: OWN },
    { match: { destinationSubnets: ["10.96.0.0/24"] }, becomes: V1 },
    { match: { destinationSubnets: ["10.97.0.0/24"] }, becomes: OWN },
    { match: { destinationSubnets: ["10.96.0.1"] }, becomes: V1 },
  ])("a match of $match: $becomes", ({ match, becomes }) => {
    const routes = tcp([[match], to("ledger.example", "v1")]);
    const objects = [LEDGER, rule("r", ["ledger.example"], { ...routes, gateways: ["mesh", "default/edge"] })];
    const { call } = outbound(objects, { node: { labels: { app: "web" } } });
    expect(call("10.96.0.1_9000", { address: "10.96.0.1" })).toBe(becomes);
  });

  test("the first route that holds for every address is the last", () => {
    const routes = tcp(
      [[{ destinationSubnets: ["10.96.0.0/24"] }], to("ledger.example", "v1")],
      [[{ port: 9000 }], to("ledger.example", "v2")],
      [[], to("ledger.example", "v3")],
    );
    const { call, find } = outbound([LEDGER, rule("r", ["ledger.example"], routes)]);
    expect(call("10.96.0.1_9000", { address: "10.96.0.1" })).toBe(V1);
    expect(call("10.96.0.1_9000", { address: "10.98.0.1" })).toBe("tcp outbound|9000|v2|ledger.example");
    expect(find("10.96.0.1_9000").filterChains).toHaveLength(1);
  });

  test.each([
    { what: "the port that was called", ports: "9000/TCP 9001/TCP", port: 9000 },
    { what: "its only one", ports: "7000/TCP", port: 7000 },
    { what: "the port that was called, though it does not have it", ports: "7000/TCP 7001/TCP", port: 9000 },
  ])("a destination without port is meant at $what", ({ ports, port }) => {
    const other = entry("other", ports, { addresses: ["10.96.0.9"] });
    const objects = [LEDGER, other, rule("r", ["ledger.example"], tcp([[], to("other.example")]))];
    expect(outbound(objects).call("10.96.0.1_9000")).toBe(`tcp outbound|${port}||other.example`);
  });

  test("the rule for the most specific host goes before, then the oldest", () => {
    const only = (subset: string) => tcp([[], to("ledger.example", subset)]);
    const wide = rule("wide", ["*.example"], only("wide"), 1);
    const young = rule("young", ["ledger.example"], only("young"), 3);
    const old = rule("old", ["ledger.example"], only("old"), 2);
    expect(outbound([LEDGER, wide, young, old]).call("10.96.0.1_9000")).toBe("tcp outbound|9000|old|ledger.example");
    expect(outbound([LEDGER, wide]).call("10.96.0.1_9000")).toBe("tcp outbound|9000|wide|ledger.example");
  });

  test("a sniffed port follows them where it is not HTTP", () => {
    const auto = entry("auto", "91/", VIP);
    const { call } = outbound([auto, rule("r", ["auto.example"], tcp([[], to("auto.example", "v1")]))]);
    expect(call("10.96.0.1_91")).toBe("tcp outbound|91|v1|auto.example");
    expect(call("10.96.0.1_91", { speaks: "http" })).toBe("http auto.example:91");
  });

  test("subnets that are the service's own range take its place", () => {
    const ranged = entry("ledger", "9000/TCP", { addresses: ["10.1.0.0/16"] });
    const routes = tcp([[{ destinationSubnets: ["10.1.0.0/16"] }], to("ledger.example", "v1")]);
    const { call, conflicts } = outbound([ranged, rule("r", ["ledger.example"], routes)]);
    expect(call("0.0.0.0_9000", { address: "10.1.2.3" })).toBe(V1);
    expect(conflicts).toEqual([]);
  });
});

describe("tls routes", () => {
  const call = (objects: readonly TestObject[], sni: string) =>
    outbound(objects, { node: { labels: { app: "web" } } }).call("0.0.0.0_443", { speaks: "tls", sni });

  test("server names choose the destination, in any case of letters", () => {
    const routes = tls(
      [[{ sniHosts: ["A.site.example", "b.site.example"] }], to("site.example", "v1")],
      [[{ sniHosts: ["*.site.example"] }], to("site.example", "v2", 50), to("site.example", "v3", 50)],
    );
    const objects = [SITE, rule("r", ["site.example", "*.site.example"], routes)];
    expect(call(objects, "a.site.example")).toBe("tcp outbound|443|v1|site.example");
    expect(call(objects, "c.site.example")).toBe("tcp outbound|443|v2|site.example=50 outbound|443|v3|site.example=50");
    // The rule takes the place of the service's own chain.
    expect(call(objects, "site.example")).toBe("tcp PassthroughCluster");
  });

  test("of matches that differ in nothing a connection shows, the first is taken", () => {
    const routes = tls(
      [[{ sniHosts: ["site.example"], sourceLabels: { app: "other" } }], to("site.example", "other")],
      [[{ sniHosts: ["site.example"], sourceLabels: { app: "web" } }], to("site.example", "web")],
      [[{ sniHosts: ["site.example"] }], to("site.example", "any")],
    );
    expect(call([SITE, rule("r", ["site.example"], routes)], "site.example")).toBe("tcp outbound|443|web|site.example");
  });

  test("a rule of several hosts is not a conflict with itself", () => {
    const routes = tls(
      [[{ sniHosts: ["site.example"] }], to("shop.example")],
      [[{ sniHosts: ["shop.example"] }], to("site.example")],
    );
    const objects = [SITE, entry("shop", "443/TLS"), rule("r", ["site.example", "shop.example"], routes)];
    expect(call(objects, "shop.example")).toBe("tcp outbound|443||site.example");
    expect(outbound(objects).conflicts).toEqual([]);
  });

  test("names that another rule has already are taken off the later one, and the conflict reported", () => {
    const shop = entry("shop", "443/TLS", { created: 9 });
    const first = rule("a", ["site.example"], tls([[{ sniHosts: ["site.example"] }], to("site.example", "v1")]));
    const second = rule(
      "b",
      ["shop.example", "site.example"],
      tls([[{ sniHosts: ["shop.example", "site.example"] }], to("shop.example")]),
      5,
    );
    const { conflicts } = outbound([SITE, shop, first, second]);
    expect(call([SITE, shop, first, second], "site.example")).toBe("tcp outbound|443|v1|site.example");
    expect(call([SITE, shop, first, second], "shop.example")).toBe("tcp outbound|443||shop.example");
    expect(conflicts.every(({ kind }) => kind === "outbound-tcp")).toBe(true);
  });

  test("subnets narrow a match further", () => {
    const routes = tls(
      [[{ sniHosts: ["site.example"], destinationSubnets: ["10.5.0.0/16"] }], to("site.example", "v5")],
      [[{ sniHosts: ["site.example"] }], to("site.example", "v0")],
    );
    const at = (address: string) =>
      outbound([SITE, rule("r", ["site.example"], routes)]).call("0.0.0.0_443", {
        speaks: "tls",
        sni: "site.example",
        address,
      });
    expect([at("10.5.1.1"), at("10.6.1.1")]).toEqual([
      "tcp outbound|443|v5|site.example",
      "tcp outbound|443|v0|site.example",
    ]);
  });
});

describe("what a DestinationRule says about connections", () => {
  const proxyOf = (policy: object, subsets: readonly object[] = [], routes?: object) => {
    const objects = [LEDGER, destinationRule("d", "ledger.example", { trafficPolicy: policy, subsets })];
    const rules = routes === undefined ? [] : [rule("r", ["ledger.example"], routes)];
    return outbound([...objects, ...rules]).chain("10.96.0.1_9000")?.filters?.[0]?.typedConfig;
  };

  test.each([
    {
      policy: { connectionPool: { tcp: { idleTimeout: "60s", maxConnectionDuration: "3600s" } } },
      gives: { idleTimeout: "60s", maxDownstreamConnectionDuration: "3600s" },
    },
    { policy: { loadBalancer: { consistentHash: { useSourceIp: true } } }, gives: { hashPolicy: [{ sourceIp: {} }] } },
    {
      policy: { tunnel: { protocol: "CONNECT", targetHost: "t.example", targetPort: 443 } },
      gives: { tunnelingConfig: { hostname: "t.example:443" } },
    },
    {
      policy: { tunnel: { protocol: "POST", targetHost: "2001:db8::1", targetPort: 443 } },
      gives: { tunnelingConfig: { hostname: "[2001:db8::1]:443", usePost: true } },
    },
    {
      policy: {
        tunnel: { protocol: "CONNECT", targetHost: "t.example", targetPort: 443 },
        portLevelSettings: [{ port: { number: 9000 }, connectionPool: { tcp: { idleTimeout: "7s" } } }],
      },
      gives: { tunnelingConfig: { hostname: "t.example:443" }, idleTimeout: "7s" },
    },
  ])("$policy gives $gives", ({ policy, gives }) => {
    expect(proxyOf(policy)).toMatchObject(gives);
  });

  test("a subset's tunnel is that of its connections only", () => {
    const pool = { connectionPool: { tcp: { maxConnections: 9 } } };
    const tunnel = { protocol: "CONNECT", targetHost: "t.example", targetPort: 443 };
    const subsets = [{ name: "v1", labels: { version: "v1" }, trafficPolicy: { tunnel } }];
    expect(proxyOf(pool, subsets)).not.toHaveProperty("tunnelingConfig");
    const routed = proxyOf(pool, subsets, tcp([[], to("ledger.example", "v1")]));
    expect(routed).toMatchObject({ tunnelingConfig: { hostname: "t.example:443" } });
  });
});

describe("tls routes for hosts that are not services", () => {
  const GATEWAY = entry("gateway", "8443/TLS", VIP);
  const blocked = { meshYaml: "outboundTrafficPolicy: {mode: REGISTRY_ONLY}" };
  const outside = (match: object, hosts: readonly string[] = ["outside.test"]) =>
    rule("r", hosts, tls([[match], { destination: { host: "gateway.example", port: { number: 8443 } } }]));

  test.each([
    { what: "on 443", match: { sniHosts: ["outside.test"] }, port: 443 },
    { what: "on the port of the match", match: { sniHosts: ["outside.test"], port: 8443 }, port: 8443 },
  ])("are followed $what, also where only services may be called", ({ match, port }) => {
    const { call, conflicts } = outbound([GATEWAY, outside(match)], blocked);
    const at = (sni: string) => call(`0.0.0.0_${port}`, { speaks: "tls", sni });
    expect(at("outside.test")).toBe("tcp outbound|8443||gateway.example");
    expect(at("other.test")).toBe("tcp BlackHoleCluster");
    expect(conflicts).toEqual([]);
  });

  test("stand beside services on the port", () => {
    const { call } = outbound([GATEWAY, SITE, outside({ sniHosts: ["x.outside.test"] }, ["*.outside.test"])], blocked);
    const at = (sni: string) => call("0.0.0.0_443", { speaks: "tls", sni });
    expect(at("x.outside.test")).toBe("tcp outbound|8443||gateway.example");
    expect(at("site.example")).toBe("tcp outbound|443||site.example");
  });

  test.each([
    { what: "for other workloads", match: { sniHosts: ["outside.test"], sourceLabels: { app: "other" } } },
    { what: "of gateways", match: { sniHosts: ["outside.test"], gateways: ["default/edge"] } },
  ])("$what leave no trace", ({ match }) => {
    expect(outbound([GATEWAY, outside(match)]).names).toEqual(["10.96.0.1_8443", "virtualOutbound"]);
  });

  test("hosts of wildcard services are theirs", () => {
    const wild = entry("*.outside.test", "443/TLS", { resolution: "NONE" });
    const routes = outside({ sniHosts: ["x.outside.test"], port: 8443 }, ["x.outside.test"]);
    expect(outbound([GATEWAY, wild, routes]).names).not.toContain("0.0.0.0_8443");
  });
});
