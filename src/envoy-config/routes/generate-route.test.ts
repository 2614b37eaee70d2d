import { describe, expect, test } from "vitest";
import {
  destinationRule,
  hostNamed,
  hostNames,
  httpService,
  routesOf,
  scopeOf,
  sidecar,
  virtualService,
} from "../../../test/support/discovery/routes.ts";
import { generateRoute } from "./generate-route.ts";

const WEB = "web.default.svc.cluster.local";

/** Where the routes of a virtual host lead, in order. */
function clustersOf(objects: readonly object[], host = `${WEB}:8080`, name = "8080"): readonly unknown[] {
  return routesOf(generateRoute(scopeOf(objects), name), host).map(({ route }) => route?.cluster);
}

const leadsTo = (host: string, extra: object = {}) => ({ route: [{ destination: { host, ...extra } }] });

test("a route names the rule that it comes from, and one without a rule names none", () => {
  const metadataOf = (...objects: readonly object[]) =>
    routesOf(generateRoute(scopeOf([httpService("web"), ...objects]), "8080"), `${WEB}:8080`).map(
      ({ metadata }) => metadata?.filterMetadata?.istio,
    );
  const config = "/apis/networking.istio.io/v1/namespaces/default/virtual-service/web";
  expect(metadataOf(virtualService("web", { http: [leadsTo("web")] }))).toEqual([{ config }]);
  expect(metadataOf()).toEqual([undefined]);
});

describe("which rule a service gets", () => {
  test("the one with the most specific host", () => {
    const objects = [
      httpService("web"),
      httpService("a"),
      httpService("b"),
      virtualService("any", { hosts: ["*.svc.cluster.local"], http: [leadsTo("a")] }),
      virtualService("near", { hosts: ["*.default.svc.cluster.local"], http: [leadsTo("b")] }),
    ];
    expect(clustersOf(objects)).toEqual(["outbound|8080||b.default.svc.cluster.local"]);
    expect(clustersOf([...objects, virtualService("web", { http: [leadsTo("web")] })])).toEqual([
      `outbound|8080||${WEB}`,
    ]);
  });

  test("of two with the same host the older, here by name", () => {
    const rule = (name: string) => virtualService(name, { hosts: ["web"], http: [leadsTo(name)] });
    expect(clustersOf([httpService("web"), rule("z"), rule("a")])).toEqual([
      "outbound|8080||a.default.svc.cluster.local",
    ]);
  });

  test("a rule without route for the port leaves it to the next one of the same host", () => {
    const objects = [
      httpService("web"),
      virtualService("a", { hosts: ["web"], http: [{ match: [{ port: 9 }], ...leadsTo("a") }] }),
      virtualService("b", { hosts: ["web"], http: [leadsTo("b")] }),
      virtualService("any", { hosts: ["*.cluster.local"], http: [leadsTo("c")] }),
    ];
    expect(clustersOf(objects)).toEqual(["outbound|8080||b.default.svc.cluster.local"]);
    // Once rules name a host, those for wildcards are none of its business.
    expect(clustersOf(objects.filter((_object, at) => at !== 2))).toEqual([`outbound|8080||${WEB}`]);
  });

  test("a rule for other protocols does not hide one for HTTP", () => {
    const objects = [
      httpService("web"),
      virtualService("a", { hosts: ["web"], tcp: [leadsTo("web")] }),
      virtualService("b", { hosts: ["web"], http: [leadsTo("other")] }),
    ];
    expect(clustersOf(objects)).toEqual(["outbound|8080||other.default.svc.cluster.local"]);
  });

  test.each([
    { what: "another port", match: { port: 9 } },
    { what: "other callers by label", match: { sourceLabels: { app: "other" } } },
    { what: "other callers by namespace", match: { sourceNamespace: "prod" } },
    { what: "gateways", match: { gateways: ["edge"], sourceLabels: { app: "client" } } },
  ])("a rule that speaks only of $what leaves the default route", ({ match }) => {
    const rule = virtualService("web", { gateways: ["mesh", "edge"], http: [{ match: [match], ...leadsTo("a") }] });
    const [route] = routesOf(generateRoute(scopeOf([httpService("web"), rule]), "8080"), `${WEB}:8080`);
    expect(route).toMatchObject({ name: "default", route: { cluster: `outbound|8080||${WEB}` } });
  });

  test.each([
    { what: "this port", match: { port: 8080 } },
    { what: "labels of the caller", match: { sourceLabels: { app: "client" } } },
    { what: "the caller's namespace", match: { sourceNamespace: "default" } },
    {
      what: "the mesh, when source labels are of no account",
      match: { gateways: ["mesh"], sourceLabels: { app: "x" } },
    },
  ])("a match on $what applies", ({ match }) => {
    const rule = virtualService("web", { http: [{ match: [match], ...leadsTo("a") }] });
    expect(clustersOf([httpService("web"), rule])).toEqual(["outbound|8080||a.default.svc.cluster.local"]);
  });
});

describe("the port of a destination", () => {
  const ports = (...numbers: number[]) => ({
    ports: numbers.map((number) => ({ number, name: `http-${number}`, protocol: "HTTP" })),
  });
  const rule = (destination: object = {}) => virtualService("web", { http: [leadsTo("a", destination)] });

  test.each([
    { what: "is the one it names", objects: [httpService("a", ports(9090)), rule({ port: { number: 7 } })], port: 7 },
    { what: "is the service's only one", objects: [httpService("a", ports(9090)), rule()], port: 9090 },
    { what: "is that of the request for several", objects: [httpService("a", ports(80, 81)), rule()], port: 8080 },
    { what: "is that of the request for an unknown service", objects: [rule()], port: 8080 },
  ])("$what", ({ objects, port }) => {
    expect(clustersOf([httpService("web"), ...objects])).toEqual([`outbound|${port}||a.default.svc.cluster.local`]);
  });
});

describe("domains", () => {
  const domains = (objects: readonly object[], host: string, options = {}, name = "8080") =>
    hostNamed(generateRoute(scopeOf(objects, options), name), host).domains;

  test("beside the service all short names lead to it, and every address of it", () => {
    const web = httpService("web", { addresses: ["10.96.0.1", "2001:db8::1", "10.97.0.0/24", "10.98.0.1/32"] });
    expect(domains([web], `${WEB}:8080`)).toEqual([
      WEB,
      `${WEB}.`,
      "web",
      "web.default.svc",
      "web.default",
      "10.96.0.1",
      "[2001:db8::1]",
      "10.98.0.1",
    ]);
  });

  test("from another namespace only names with the namespace", () => {
    expect(domains([httpService("web")], `${WEB}:8080`, { namespace: "prod" })).toEqual([
      WEB,
      `${WEB}.`,
      "web.default",
      "web.default.svc",
    ]);
  });

  test("an allocated address only where the agent answers DNS", () => {
    const web = [httpService("web", { hosts: ["web.example"] })];
    expect(domains(web, "web.example:8080")).toHaveLength(2);
    const captured = domains(web, "web.example:8080", { metadata: { DNS_CAPTURE: "true", DNS_AUTO_ALLOCATE: "true" } });
    expect(captured?.at(-1)).toMatch(/^240\.240\./);
  });

  test("one address of two services belongs to the first", () => {
    const at = { addresses: ["10.96.0.1"] };
    const config = generateRoute(scopeOf([httpService("a", at), httpService("b", at)]), "8080");
    expect(hostNamed(config, "a.default.svc.cluster.local:8080").domains).toContain("10.96.0.1");
    expect(hostNamed(config, "b.default.svc.cluster.local:8080").domains).not.toContain("10.96.0.1");
  });

  test("a rule for an address takes it from the service", () => {
    const rule = virtualService("ip", { hosts: ["10.96.0.1"], http: [{ match: [{ port: 8080 }], ...leadsTo("a") }] });
    const config = generateRoute(scopeOf([httpService("a", { addresses: ["10.96.0.1"] }), rule]), "8080");
    expect(hostNamed(config, "10.96.0.1:8080").domains).toEqual(["10.96.0.1"]);
    expect(hostNamed(config, "a.default.svc.cluster.local:8080").domains).not.toContain("10.96.0.1");
  });

  test("a host whose domains are all taken is gone", () => {
    const loud = virtualService("loud", { hosts: [WEB.toUpperCase(), "web"], http: [leadsTo("a")] });
    expect(hostNames(generateRoute(scopeOf([httpService("web"), loud]), "8080"))).toEqual([`${WEB}:8080`, "allow_any"]);
  });

  test("a short name that is another service's real name is left to that one", () => {
    const real = httpService("other", { hosts: ["web.default"] });
    const config = generateRoute(scopeOf([httpService("web"), real]), "8080");
    expect(hostNamed(config, `${WEB}:8080`).domains).not.toContain("web.default");
    expect(hostNamed(config, "web.default:8080").domains).toContain("web.default");
  });
});

describe("hosts that no registry knows", () => {
  const rule = (spec: object = {}) => virtualService("shop", { hosts: ["shop.example"], ...spec });

  test("are served where the other hosts of their rule are", () => {
    const both = virtualService("shop", { hosts: ["shop.example", "web"], http: [leadsTo("web")] });
    const scope = scopeOf([
      httpService("web"),
      httpService("b", { ports: [{ number: 80, name: "http", protocol: "HTTP" }] }),
      both,
    ]);
    expect(hostNames(generateRoute(scope, "8080"))).toContain("shop.example:8080");
    expect(hostNames(generateRoute(scope, "9090"))).not.toContain("shop.example:9090");
  });

  test("are served on port 80 as well, with the services of their rule that have no such port", () => {
    const both = virtualService("shop", { hosts: ["shop.example", "web"], http: [leadsTo("web")] });
    const scope = scopeOf([httpService("web"), both]);
    expect(hostNames(generateRoute(scope, "80"))).toEqual(["shop.example:80", `${WEB}:80`, "allow_any"]);
  });

  test("a service counts as unknown on ports that only another host of its rule has", () => {
    const b = httpService("b", { ports: [{ number: 9090, name: "http", protocol: "HTTP" }] });
    const scope = scopeOf([httpService("web"), b, virtualService("r", { hosts: ["web", "b"], http: [leadsTo("b")] })]);
    expect(hostNamed(generateRoute(scope, "9090"), `${WEB}:9090`).domains).toEqual([WEB]);
  });

  test("the first rule for such a host counts that has a route for the caller", () => {
    const other = { match: [{ sourceNamespace: "elsewhere" }], directResponse: { status: 201 } };
    const scope = scopeOf([
      virtualService("r1", { hosts: ["shop.example"], http: [other] }),
      virtualService("r2", { hosts: ["shop.example"], http: [{ directResponse: { status: 202 } }] }),
    ]);
    expect(routesOf(generateRoute(scope, "80"), "shop.example:80")).toMatchObject([
      { directResponse: { status: 202 } },
    ]);
  });

  test("alone in their rule, on port 80, on ports it names and on those of its destinations", () => {
    const scope = scopeOf([
      httpService("web"),
      rule({ http: [{ match: [{ port: 9000 }], ...leadsTo("web") }, leadsTo("web", { port: { number: 8081 } })] }),
    ]);
    const on = (port: number) => hostNames(generateRoute(scope, String(port))).includes(`shop.example:${port}`);
    expect([80, 8080, 8081, 9000, 7000].map(on)).toEqual([true, true, true, true, false]);
  });

  test("are known by their full name alone", () => {
    const scope = scopeOf([virtualService("ghost", { http: [{ directResponse: { status: 204 } }] })]);
    const name = "ghost.default.svc.cluster.local";
    expect(hostNamed(generateRoute(scope, "80"), `${name}:80`).domains).toEqual([name]);
  });
});

describe("requests for unknown hosts", () => {
  const last = (objects: readonly object[], mesh = {}) =>
    generateRoute(scopeOf([httpService("web"), ...objects], { mesh }), "8080").virtualHosts?.at(-1);

  test("pass by default", () => {
    expect(last([])).toMatchObject({
      name: "allow_any",
      domains: ["*"],
      routes: [{ route: { cluster: "PassthroughCluster" } }],
    });
  });

  test("are refused when only registered hosts are allowed", () => {
    const refused = { name: "block_all", routes: [{ directResponse: { status: 502 } }] };
    expect(last([], { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } })).toMatchObject(refused);
    const own = sidecar("s", { egress: [{ hosts: ["./*"] }], outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } });
    expect(last([own])).toMatchObject(refused);
  });

  test("are looked up as they are called where the mesh wants it, unless a Sidecar has its own policy", () => {
    const mesh = { outboundTrafficPolicy: { mode: "ALLOW_ANY_DYNAMIC_DNS" } };
    expect(last([], mesh)).toMatchObject({
      name: "allow_any_dynamic_dns",
      routes: [{ route: { cluster: "AllowAnyDynamicDNSCluster" } }],
    });
    const own = sidecar("s", { egress: [{ hosts: ["./*"] }], outboundTrafficPolicy: { mode: "ALLOW_ANY" } });
    expect(last([own], mesh)).toMatchObject({ routes: [{ route: { cluster: "PassthroughCluster" } }] });
  });

  test("go to the egress proxy of the Sidecar", () => {
    const egressProxy = { host: "edge.example", port: { number: 443 }, subset: "s" };
    const own = sidecar("s", {
      egress: [{ hosts: ["./*"] }],
      outboundTrafficPolicy: { mode: "ALLOW_ANY", egressProxy },
    });
    expect(last([own])).toMatchObject({ routes: [{ route: { cluster: "outbound|443|s|edge.example" } }] });
  });
});

describe("names of route configurations", () => {
  const objects = [
    httpService("web", { addresses: ["10.96.0.1"] }),
    httpService("auto", { ports: [{ number: 8080, name: "auto", protocol: "" }] }),
    httpService("tcp", { ports: [{ number: 8080, name: "tcp", protocol: "TCP" }] }),
  ];

  test("a port: services that may get HTTP there, by name, the rest last", () => {
    expect(hostNames(generateRoute(scopeOf(objects), "8080"))).toEqual([
      "auto.default.svc.cluster.local:8080",
      `${WEB}:8080`,
      "allow_any",
    ]);
  });

  test("a host and a port: that service for any host", () => {
    const config = generateRoute(scopeOf(objects), "auto.default.svc.cluster.local:8080");
    expect(config.virtualHosts).toHaveLength(1);
    expect(config.virtualHosts?.[0]).toMatchObject({ name: "auto.default.svc.cluster.local:8080", domains: ["*"] });
  });

  test("http_proxy: all ports, distinguished by the port in the host; port 80 goes without saying", () => {
    const plain = httpService("plain", { ports: [{ number: 80, name: "http", protocol: "HTTP" }] });
    const config = generateRoute(scopeOf([...objects, plain]), "http_proxy");
    expect(config.ignorePortInHostMatching).toBeUndefined();
    expect(hostNamed(config, `${WEB}:8080`).domains).toEqual([
      `${WEB}:8080`,
      `${WEB}.:8080`,
      "web:8080",
      "web.default.svc:8080",
      "web.default:8080",
      "10.96.0.1:8080",
    ]);
    expect(hostNamed(config, "plain.default.svc.cluster.local:80").domains).toEqual(
      expect.arrayContaining(["plain", "plain:80"]),
    );
  });

  test.each(["nothing", "0", "65536", "8080 ", "", "unknown.example:8080", "unix:///tmp/x.sock", "-1", "08080"])(
    "%j is no name of ours: an empty configuration",
    (name) => {
      const { name: answered, virtualHosts } = generateRoute(scopeOf(objects), name);
      expect({ answered, virtualHosts }).toEqual({ answered: name, virtualHosts: undefined });
    },
  );
});

describe("retries that the mesh wants", () => {
  const mesh = { defaultHttpRetryPolicy: { attempts: 4, retryOn: "5xx" } };
  const retriesOf = (objects: readonly object[], settings: object) =>
    routesOf(generateRoute(scopeOf(objects, { mesh: settings }), "8080"), `${WEB}:8080`)[0]?.route?.retryPolicy;
  const rule = (retries: object = {}) => virtualService("web", { http: [{ ...leadsTo("web"), ...retries }] });

  test("hold with and without a rule, unless the rule says otherwise", () => {
    expect(retriesOf([httpService("web")], mesh)).toMatchObject({ numRetries: 4, retryOn: "5xx" });
    expect(retriesOf([httpService("web"), rule()], mesh)).toMatchObject({ numRetries: 4, retryOn: "5xx" });
    expect(retriesOf([httpService("web"), rule({ retries: { attempts: 1 } })], mesh)).toMatchObject({ numRetries: 1 });
  });

  test("may be none", () => {
    expect(retriesOf([httpService("web")], { defaultHttpRetryPolicy: { attempts: 0 } })).toBeUndefined();
  });
});

describe("headers of the proxy", () => {
  const rewriting = virtualService("web", { http: [{ ...leadsTo("web"), rewrite: { authority: "z" } }] });
  const configOf = (proxyHeaders: object, metadata: object = {}) => {
    const mesh = { defaultConfig: { proxyHeaders } };
    return generateRoute(scopeOf([httpService("web"), rewriting], { mesh, metadata }), "8080");
  };
  const countsOf = (config: ReturnType<typeof configOf>) =>
    config.virtualHosts?.map(({ includeRequestAttemptCount }) => includeRequestAttemptCount);

  test("the number of tries is reported unless it is turned off, by the proxy itself or for all", () => {
    const off = { attemptCount: { disabled: true } };
    expect(countsOf(configOf({}))).toEqual([true, true]);
    expect(countsOf(configOf(off))).toEqual([undefined, undefined]);
    expect(countsOf(configOf(off, { PROXY_CONFIG: {} }))).toEqual([true, true]);
    expect(countsOf(configOf({}, { PROXY_CONFIG: { proxyHeaders: off } }))).toEqual([undefined, undefined]);
  });

  test("the host that was asked for is reported where it is rewritten or unknown, if that is wanted", () => {
    const toldOf = (config: ReturnType<typeof configOf>) =>
      config.virtualHosts?.map(({ routes }) => routes?.[0]?.route?.appendXForwardedHost);
    expect(toldOf(configOf({}))).toEqual([undefined, undefined]);
    expect(toldOf(configOf({ xForwardedHost: { enabled: true } }))).toEqual([true, true]);
  });
});

describe("hash policies", () => {
  const hashed = (consistentHash: object, trafficPolicy: object = {}) =>
    destinationRule("web", { trafficPolicy: { loadBalancer: { consistentHash }, ...trafficPolicy } });

  test("follow the destination of each route and make retries stay", () => {
    const rule = virtualService("web", { http: [leadsTo("web")] });
    const objects = [httpService("web"), rule, hashed({ httpHeaderName: "x-user" })];
    const [route] = routesOf(generateRoute(scopeOf(objects), "8080"), `${WEB}:8080`);
    expect(route?.route?.hashPolicy).toEqual([{ header: { headerName: "x-user" } }]);
    expect(route?.route?.retryPolicy?.retryHostPredicate).toBeUndefined();
  });

  test("several destinations give each of theirs, and retries may go elsewhere", () => {
    const split = [
      { destination: { host: "web" }, weight: 1 },
      { destination: { host: "web", port: { number: 8080 } }, weight: 1 },
    ];
    const objects = [
      httpService("web"),
      virtualService("web", { http: [{ route: split }] }),
      hashed({ httpHeaderName: "x" }),
    ];
    const [route] = routesOf(generateRoute(scopeOf(objects), "8080"), `${WEB}:8080`);
    expect(route?.route?.hashPolicy).toEqual([{ header: { headerName: "x" } }, { header: { headerName: "x" } }]);
    expect(route?.route?.retryPolicy?.retryHostPredicate).toHaveLength(1);
  });

  test("settings of a port replace those of the rule", () => {
    const portLevelSettings = [{ port: { number: 8080 }, loadBalancer: { simple: "ROUND_ROBIN" } }];
    const objects = [httpService("web"), hashed({ httpHeaderName: "x-user" }, { portLevelSettings })];
    const [route] = routesOf(generateRoute(scopeOf(objects), "8080"), `${WEB}:8080`);
    expect(route?.route?.hashPolicy).toBeUndefined();
  });
});
