import { describe, expect, test } from "vitest";
import { createTestMesh, testNode } from "../../test/support/mesh-model/create-test-mesh.ts";
import { at, gateway, object, rule, scopeOf, server, toWeb } from "../../test/support/mesh-model/router-view.ts";
import type { OutboundScope, ProxyView } from "../mesh-model/push-snapshot.ts";
import { decodeMessage } from "../protobuf/envoy/index.ts";
import type { Listener } from "../protobuf/gen/envoy/config/listener/v3.ts";
import type { HttpConnectionManager } from "../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { any } from "../protobuf/wire/discovery.ts";
import { UNKNOWN_KEY } from "./authz/jwt.ts";
import { createResourceSource } from "./create-resource-source.ts";
import type { ResourceProblem } from "./resource-problems.ts";

/** An object of which nothing can be made costs its own resources, and is named. */
describe("a router with an object that generators fail on", () => {
  const servers = [server(80, "HTTP", ["*"]), server(9000, "TCP", ["*"])];
  const toDb = {
    tcp: [{ route: [{ destination: { host: "db.default.svc.cluster.local", port: { number: 9000 } } }] }],
  };
  const tls = { mode: "SIMPLE", credentialName: "cert" };
  const objects = [
    gateway(servers),
    gateway([server(8080, "HTTP", ["*"])], "other"),
    gateway([server(8443, "HTTPS", ["a.example.com"], { tls }), server(8444, "HTTPS", ["*"], { tls })], "secure"),
    gateway([server(8445, "TLS", ["*"], { tls: { mode: "PASSTHROUGH" } })], "through"),
    rule("good", ["good.example.com"], toWeb),
    rule("bad", ["bad.example.com"], at("/bad")),
    rule("db", ["*"], toDb),
    ...["one", "two"].map((name) =>
      object("VirtualService", name, {
        hosts: [`${name}.example.com`],
        gateways: ["default/through"],
        tls: [{ match: [{ sniHosts: [`${name}.example.com`] }], ...toDb.tcp[0] }],
      }),
    ),
  ];
  const view = scopeOf(objects);
  const listeners = ["0.0.0.0_80", "0.0.0.0_9000", "0.0.0.0_8080", "0.0.0.0_8443", "0.0.0.0_8444", "0.0.0.0_8445"];

  test("has all listeners while nothing fails", () => {
    const { names, problems } = sent(view, "LDS");
    expect(new Set(names)).toEqual(new Set(listeners));
    expect(problems).toEqual([]);
  });

  test.each([
    { what: "a Gateway that cannot be read", of: ["Gateway", "other"], path: ["spec"], lost: ["0.0.0.0_8080"] },
    {
      what: "a server of a Gateway",
      of: ["Gateway", "secure"],
      path: ["spec", "servers", 0, "tls", "credentialName"],
      lost: ["0.0.0.0_8443"],
    },
    { what: "a rule for TCP", of: ["VirtualService", "db"], path: ["spec", "tcp"], lost: ["0.0.0.0_9000"] },
    { what: "a rule for TLS of others", of: ["VirtualService", "one"], path: ["spec", "tls"], lost: [] },
  ])("$what costs its own listeners", ({ of: [kind = "", name = ""], path, lost }) => {
    const { names, problems, text } = sent(breaking(view, kind, name, path), "LDS");
    expect(new Set(names)).toEqual(new Set(listeners.filter((one) => !lost.includes(one))));
    expect(problems).toEqual([{ object: { kind, namespace: "default", name }, reason: "broken", effect: "left-out" }]);
    expect(text.includes("one.example.com")).toBe(name !== "one");
    expect(text).toContain("two.example.com");
  });

  test("a rule for HTTP costs its own virtual host", () => {
    const { text, problems } = sent(breaking(view, "VirtualService", "bad", ["spec", "http"]), "RDS", ["http.80"]);
    expect(text).toContain("good.example.com");
    expect(text).not.toContain("bad.example.com");
    const named = { kind: "VirtualService", namespace: "default", name: "bad" };
    expect(problems).toEqual([{ object: named, reason: "broken", effect: "left-out" }]);
  });
});

test("a server of a Gateway costs its own listener for HTTP/3", () => {
  const tls = { mode: "SIMPLE", credentialName: "cert" };
  const servers = [8443, 8444].map((port) => gateway([server(port, "HTTPS", ["*"], { tls })], `on-${port}`));
  const view = scopeOf(servers);
  const quic = { ...view.outbound.mesh, quicListeners: true };
  const outbound = { ...view.outbound, mesh: quic } as OutboundScope;
  const whole = sent({ ...view, outbound }, "LDS").names;
  expect(whole.filter((name) => name.startsWith("udp_"))).toHaveLength(2);
  const { names, problems } = sent(
    breaking({ ...view, outbound }, "Gateway", "on-8443", ["spec", "servers", 0, "tls", "minProtocolVersion"]),
    "LDS",
  );
  expect(names).toEqual(whole.filter((name) => !name.includes("8443")));
  expect(new Set(problems.map((problem) => problem.object?.name))).toEqual(new Set(["on-8443"]));
});

describe("a sidecar with an object that generators fail on", () => {
  const own = (name: string, port: number, targetPort: number) =>
    object("ServiceEntry", name, {
      hosts: [`${name}.default.svc.cluster.local`],
      location: "MESH_INTERNAL",
      resolution: "STATIC",
      ports: [{ number: port, name: "http", protocol: "HTTP", targetPort }],
      endpoints: [{ address: "10.10.0.1" }],
    });
  const policy = object("DestinationRule", "pool", {
    host: "second.default.svc.cluster.local",
    trafficPolicy: { connectionPool: { tcp: { maxConnections: 7 } } },
  });
  const services = [own("first", 80, 8080), own("second", 81, 8081)];
  const named = (kind: string, name: string) => [
    { object: { kind, namespace: "default", name }, reason: "broken", effect: "left-out" },
  ];

  test("a service costs the filter chains of its own port", () => {
    const view = sidecar(...services);
    const broken = { ...view, inbound: { ...view.inbound, targets: brokenTargets(view, "second", ["name"]) } };
    const { text, problems } = sent(broken, "LDS");
    expect(sent(view, "LDS").text).toContain("inbound|8081||");
    expect(text).toContain("inbound|8080||");
    expect(text).not.toContain("inbound|8081||");
    expect(problems).toEqual(named("ServiceEntry", "second"));
  });

  test("a DestinationRule costs the inbound cluster of its own service", () => {
    const view = sidecar(...services, policy);
    const rules = new Map(
      [...view.inbound.rules].map(([key, one]) => [key, one && (broken(one, ["spec", "trafficPolicy"]) as typeof one)]),
    );
    const { names, problems } = sent({ ...view, inbound: { ...view.inbound, rules } }, "CDS");
    expect(names).toContain("inbound|8080||");
    expect(names).not.toContain("inbound|8081||");
    expect(problems).toEqual(named("DestinationRule", "pool"));
  });

  test("a service costs its own outbound listeners and its own virtual host", () => {
    const view = sidecar(...services);
    const names = ["80", "81"];
    expect(sent(view, "RDS", names).text).toContain("second.default.svc.cluster.local");
    const failing = breakingServices(view, "second", ["ports"]);
    expect(sent(failing, "LDS").names).toContain("0.0.0.0_80");
    expect(sent(failing, "LDS").names).not.toContain("0.0.0.0_81");
    expect(sent(failing, "LDS").problems).toEqual(named("ServiceEntry", "second"));
    const routes = sent(breakingServices(view, "second", ["addresses"]), "RDS", names);
    expect(routes.text).toContain("first.default.svc.cluster.local");
    expect(routes.text).not.toContain("second.default.svc.cluster.local");
    expect(routes.problems).toEqual(named("ServiceEntry", "second"));
  });

  test.each([
    { what: "HTTP", member: "http", type: "RDS" as const, read: "rewrite" },
    { what: "TLS", member: "tls", type: "LDS" as const, read: "route" },
  ])("a rule for $what to a host that is no service costs that host", ({ member, type, read }) => {
    const to = { route: [{ destination: { host: "first.default.svc.cluster.local", port: { number: 80 } } }] };
    const about = (name: string) =>
      object("VirtualService", name, {
        hosts: [`${name}.example.com`],
        [member]: [member === "tls" ? { match: [{ sniHosts: [`${name}.example.com`] }], ...to } : to],
      });
    const view = sidecar(...services, about("good"), about("bad"));
    const names = type === "RDS" ? ["80"] : [];
    expect(sent(view, type, names).text).toContain("bad.example.com");
    const { text, problems } = sent(breakingRule(view, "bad", ["spec", member, 0, read]), type, names);
    expect(text).toContain("good.example.com");
    expect(text).not.toContain("bad.example.com");
    expect(problems).toEqual(named("VirtualService", "bad"));
  });

  /** A proxy that binds two ports itself. */
  const bindingSidecar = () => {
    const ingress = [8080, 8081].map((number) => ({
      port: { number, name: `http-${number}`, protocol: "HTTP" },
      bind: "10.10.0.1",
      captureMode: "NONE",
      defaultEndpoint: `127.0.0.1:${number}`,
    }));
    return sidecar(object("Sidecar", "own", { ingress, egress: [{ hosts: ["*/*"] }] }));
  };

  test("a port that is really bound costs its own listener", () => {
    const view = bindingSidecar();
    const portMtls = {
      get: (port: number) => {
        if (port === 8081) throw new Error("broken");
        return undefined;
      },
      [Symbol.iterator]: () => [].values(),
    } as unknown as typeof view.inbound.portMtls;
    const { names, problems } = sent({ ...view, inbound: { ...view.inbound, portMtls } }, "LDS");
    expect(names).toContain("10.10.0.1_8080");
    expect(names).not.toContain("10.10.0.1_8081");
    expect(problems).toEqual(named("Sidecar", "own"));
  });

  test("an ingress listener of a Sidecar costs itself", () => {
    const view = bindingSidecar();
    const [first, second] = view.inbound.ingress;
    const failing = [first, broken(second, ["connectionPool"])] as typeof view.inbound.ingress;
    const { names, problems } = sent({ ...view, inbound: { ...view.inbound, ingress: failing } }, "CDS");
    expect(names).toContain("inbound|8080||");
    expect(names).not.toContain("inbound|8081||");
    expect(problems).toEqual(named("Sidecar", "own"));
  });
});

/** Listeners must neither open nor be lost by a policy of which nothing can be made. */
describe("a workload with an access policy that generators fail on", () => {
  const policy = (name: string, action: string, port: string, annotations = {}) =>
    JSON.stringify({
      apiVersion: "security.istio.io/v1",
      kind: "AuthorizationPolicy",
      metadata: { name, namespace: "default", annotations },
      spec: {
        action,
        rules: [{ to: [{ operation: { ports: [port] } }] }],
        ...(action === "CUSTOM" && { provider: { name: "gone" } }),
      },
    });
  const NEVER = { permissions: [{ notRule: { any: true } }], principals: [{ notId: { any: true } }] };
  const ALWAYS = { permissions: [{ any: true }], principals: [{ any: true }] };
  const keyOf = (name: string) => `ns[default]-policy[${name}]-rule[0]`;
  const refused = (kind: string, name: string, text: string) => ({
    effect: "refused-rule",
    object: { kind, namespace: "default", name },
    reason: `broken: ${text}`,
  });

  test.each([
    { action: "ALLOW", instead: NEVER, text: "the policy cannot be built and allows nothing" },
    { action: "DENY", instead: ALWAYS, text: "the policy cannot be built and denies everything" },
    { action: "AUDIT", instead: NEVER, text: "the policy cannot be built and has no effect" },
  ])("$action: the other policies are there, and it never lets in more", ({ action, instead, text }) => {
    const view = sidecar(policy("good", action, "8080"), policy("bad", action, "8081"));
    for (const path of [["rules", 0, "to"], ["rules"]]) {
      const found = rulesIn(breakingPolicy(view, "AuthorizationPolicy", "bad", ["spec", ...path]));
      expect(found.listeners).toContain("virtualInbound");
      expect(found.problems).toEqual([refused("AuthorizationPolicy", "bad", text)]);
      for (const layer of ["http", "network"] as const) {
        const { policies } = found[layer][0]?.rules ?? {};
        expect(policies?.[keyOf("bad")]).toEqual(instead);
        expect(policies?.[keyOf("good")]).toMatchObject({ permissions: [{ destinationPort: 8080 }], principals: [{}] });
      }
    }
  });

  test("on trial it decides nothing", () => {
    const trial = { "istio.io/dry-run": "true" };
    const view = sidecar(policy("good", "DENY", "8080"), policy("bad", "DENY", "8081", trial));
    const { http, problems } = rulesIn(breakingPolicy(view, "AuthorizationPolicy", "bad", ["spec", "rules", 0, "to"]));
    expect(Object.keys(http[0]?.rules?.policies ?? {})).toEqual([keyOf("good")]);
    expect(http[0]?.shadowRules?.policies).toEqual({ [keyOf("bad")]: NEVER });
    expect(problems).toEqual([refused("AuthorizationPolicy", "bad", "the policy cannot be built and has no effect")]);
  });

  test("of a provider that cannot be asked either, everything is denied", () => {
    const view = sidecar(policy("bad", "CUSTOM", "8081"));
    const { http, problems } = rulesIn(breakingPolicy(view, "AuthorizationPolicy", "bad", ["spec", "rules", 0, "to"]));
    expect(http[0]?.rules).toMatchObject({ action: "DENY" });
    expect(Object.values(http[0]?.rules?.policies ?? {})).toEqual([ALWAYS]);
    expect(problems).toContainEqual(
      refused("AuthorizationPolicy", "bad", "the policy cannot be built and is applied to every request"),
    );
  });

  test("a program without proxy is treated alike", () => {
    const view = createTestMesh(
      [serving, policy("good", "DENY", "8080"), policy("bad", "DENY", "8081")].join("\n---\n"),
    )
      .take()
      .snapshot.view(testNode({ address: "10.10.0.1", metadata: { GENERATOR: "grpc" } }));
    const { text, problems } = sent(
      breakingPolicy(view, "AuthorizationPolicy", "bad", ["spec", "rules", 0, "to"]),
      "LDS",
      ["xds.istio.io/grpc/lds/inbound/0.0.0.0:8080"],
    );
    expect(text).toContain("default-good-0");
    expect(text).toContain("default-bad-0");
    expect(problems).toEqual([
      refused("AuthorizationPolicy", "bad", "the policy cannot be built and denies everything"),
    ]);
  });

  test.each([
    { what: "a rule", path: ["jwtRules", 0, "fromHeaders"], issuer: "bad" },
    { what: "all rules", path: ["jwtRules"], issuer: undefined },
  ])("a RequestAuthentication that fails by $what rejects tokens", ({ path, issuer }) => {
    const jwks = '{"keys":[{"kty":"oct","k":"AA"}]}';
    const tokens = (name: string) =>
      JSON.stringify({
        apiVersion: "security.istio.io/v1",
        kind: "RequestAuthentication",
        metadata: { name, namespace: "default" },
        spec: { jwtRules: [{ issuer: name, jwks }] },
      });
    const view = sidecar(tokens("good"), tokens("bad"));
    const { http, problems } = rulesIn(breakingPolicy(view, "RequestAuthentication", "bad", ["spec", ...path]));
    const providers = Object.values(http[0]?.providers ?? {});
    expect(providers.map((one) => one.issuer).sort()).toEqual(["good", issuer].sort());
    const bad = providers.find((one) => one.issuer === issuer);
    expect(bad?.localJwks).toEqual({ inlineString: UNKNOWN_KEY });
    expect(http[0]?.rules).toMatchObject([{ requires: { requiresAny: { requirements: [{}, {}, {}] } } }]);
    const text = "the rule cannot be built and rejects every token that no other one accepts";
    expect(problems).toEqual([refused("RequestAuthentication", "bad", text)]);
  });
});

describe("objects about a whole workload", () => {
  const inGroup = (apiVersion: string, kind: string, name: string, spec: object) =>
    JSON.stringify({ apiVersion, kind, metadata: { name, namespace: "default" }, spec });
  const plugin = (name: string) =>
    inGroup("extensions.istio.io/v1alpha1", "WasmPlugin", name, {
      url: `oci://registry.test/${name}`,
      phase: "AUTHZ",
      match: [{ mode: "SERVER" }],
      vmConfig: {},
    });
  const telemetry = (name: string, spec: object) =>
    inGroup("telemetry.istio.io/v1", "Telemetry", name, { selector: { matchLabels: { app: "web" } }, ...spec });
  const lua = (name: string) =>
    inGroup("networking.istio.io/v1alpha3", "EnvoyFilter", name, {
      configPatches: [
        {
          applyTo: "HTTP_FILTER",
          match: { context: "SIDECAR_INBOUND", listener: { portNumber: 8080 } },
          patch: {
            operation: "INSERT_FIRST",
            value: {
              name,
              typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors" },
            },
          },
        },
      ],
    });
  const workload = (...objects: readonly string[]) =>
    createTestMesh([serving, ...objects].join("\n---\n"))
      .take()
      .snapshot.view(testNode({ address: "10.10.0.1", metadata: { LABELS: { app: "web" } } }));
  const NO_EFFECT = "broken: it cannot be read, and has no effect";

  test.each([
    { kind: "WasmPlugin" as const, of: plugin, path: ["spec"], marker: (name: string) => `wasmplugin/default.${name}` },
    { kind: "WasmPlugin" as const, of: plugin, path: ["spec", "match"], marker: (name: string) => `default.${name}` },
    {
      kind: "Telemetry" as const,
      of: (name: string) =>
        telemetry(name, { tracing: [{ customTags: { [`tag-${name}`]: { literal: { value: "x" } } } }] }),
      path: ["spec", "tracing", 0, "customTags"],
      marker: () => "virtualInbound",
    },
    {
      kind: "Telemetry" as const,
      of: (name: string) => telemetry(name, { accessLogging: [{ providers: [{ name: "envoy" }] }] }),
      path: ["spec", "accessLogging"],
      marker: () => "/dev/stdout",
    },
    {
      kind: "Telemetry" as const,
      of: (name: string) => telemetry(name, { metrics: [{ providers: [{ name: "prometheus" }] }] }),
      path: ["spec", "metrics"],
      marker: () => "istio_requests_total",
    },
  ])("a $kind that fails at $path costs itself alone", ({ kind, of, path, marker }) => {
    const view = workload(of("good"), of("bad"));
    const whole = sent(view, "LDS");
    const { names, text, problems } = sent(breakingObject(view, kind, "bad", path), "LDS");
    expect(names).toEqual(whole.names);
    expect(text).toContain(marker("good"));
    if (kind === "WasmPlugin") expect(text).not.toContain(marker("bad"));
    const named = { effect: "refused-rule", object: { kind, namespace: "default", name: "bad" }, reason: NO_EFFECT };
    expect(problems).toContainEqual(named);
    expect(problems.filter(({ object: of }) => of?.name !== "bad" && of !== undefined)).toEqual([]);
  });

  test("a WasmPlugin whose module cannot be described costs its own extension", () => {
    const view = workload(plugin("good"), plugin("bad"));
    const names = ["good", "bad"].map((name) => `extensions.istio.io/wasmplugin/default.${name}`);
    expect(sent(view, "ECDS", names).names).toEqual(names);
    const found = sent(breakingObject(view, "WasmPlugin", "bad", ["spec", "vmConfig", "env"]), "ECDS", names);
    expect(found.names).toEqual(names.slice(0, 1));
    const object = { kind: "WasmPlugin", namespace: "default", name: "bad" };
    expect(found.problems).toEqual([{ effect: "left-out", reason: "broken", object }]);
  });

  test("an EnvoyFilter that cannot be read, and one whose patch cannot be applied, cost themselves alone", () => {
    const view = workload(lua("good"), lua("bad"));
    const whole = sent(view, "LDS");
    expect(whole.text).toContain("bad");
    for (const path of [
      ["spec", "configPatches"],
      ["spec", "configPatches", 0, "match", "listener"],
    ]) {
      const { names, text, problems } = sent(breakingObject(view, "EnvoyFilter", "bad", path), "LDS");
      expect(names).toEqual(whole.names);
      expect(text).toContain("good");
      expect(text).not.toContain("bad");
      expect(problems.length).toBeGreaterThan(0);
      expect(problems.every(({ effect, reason }) => effect === "refused-rule" && reason.includes("broken"))).toBe(true);
    }
  });
});

/** The view in which reading that member of the object fails, wherever it is listed. */
function breakingObject(
  view: ProxyView,
  kind: "EnvoyFilter" | "Telemetry" | "WasmPlugin",
  name: string,
  path: readonly (string | number)[],
): ProxyView {
  const made = new Map<object, unknown>();
  const breakOnce = (one: object) => {
    if (!made.has(one)) made.set(one, broken(one, path));
    return made.get(one);
  };
  const { configs } = view.snapshot;
  const list = (of: typeof kind, namespace?: string) =>
    configs.list(of, namespace ?? "").map((one) => (of === kind && one.name === name ? breakOnce(one) : one));
  const snapshot = { ...view.snapshot, configs: { ...configs, list } };
  const content = { ...view.outbound.content, snapshot };
  return { ...view, snapshot, outbound: { ...view.outbound, snapshot, content } } as unknown as ProxyView;
}

const serving = object("ServiceEntry", "first", {
  hosts: ["first.default.svc.cluster.local"],
  location: "MESH_INTERNAL",
  resolution: "STATIC",
  ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }],
  endpoints: [{ address: "10.10.0.1" }],
});

interface AccessFilter {
  readonly rules?: { readonly policies?: Readonly<Record<string, unknown>> };
  readonly shadowRules?: { readonly policies?: Readonly<Record<string, unknown>> };
  readonly providers?: Readonly<Record<string, { readonly issuer?: string; readonly localJwks?: unknown }>>;
}

/** The filters that decide on access, of the chains that serve ports of no service: these have them with and without HTTP. */
function rulesIn(view: ProxyView) {
  const source = createResourceSource({ onProblem: (problem) => found.push(problem) });
  const found: ResourceProblem[] = [];
  const resources = source.all(view, "LDS").resources;
  const inbound = resources.find(({ name }) => name === "virtualInbound");
  const listener = decodeMessage(
    "envoy.config.listener.v3.Listener",
    Buffer.from(any.decode(inbound?.any ?? Buffer.alloc(0)).value),
  ) as Listener;
  const filtersOf = (name: string) => listener.filterChains?.find((chain) => chain.name === name)?.filters ?? [];
  const manager = filtersOf("virtualInbound-catchall-http").at(-1)?.typedConfig as unknown as HttpConnectionManager;
  const deciding = (filters: readonly { readonly name?: string | undefined; readonly typedConfig?: unknown }[]) =>
    filters
      .filter(({ name = "" }) => /rbac|jwt_authn/.test(name))
      .map(({ typedConfig }) => typedConfig as AccessFilter);
  return {
    listeners: resources.map(({ name }) => name),
    http: deciding(manager.httpFilters ?? []),
    network: deciding(filtersOf("virtualInbound")),
    problems: found
      .filter(({ reason }) => reason.startsWith("broken"))
      .map(({ effect, reason, object: of }) => ({ effect, reason, object: of })),
  };
}

/** The view in which reading that member of the policy fails. */
function breakingPolicy(
  view: ProxyView,
  kind: "AuthorizationPolicy" | "RequestAuthentication",
  name: string,
  path: readonly (string | number)[],
): ProxyView {
  const { configs } = view.snapshot;
  const list = (of: typeof kind, namespace?: string) =>
    configs.list(of, namespace ?? "").map((one) => (of === kind && one.name === name ? broken(one, path) : one));
  return { ...view, snapshot: { ...view.snapshot, configs: { ...configs, list } } } as ProxyView;
}

const sidecar = (...objects: readonly string[]) =>
  createTestMesh(objects.join("\n---\n"))
    .take()
    .snapshot.view(testNode({ address: "10.10.0.1" }));

function sent(view: ProxyView, type: "CDS" | "ECDS" | "LDS" | "RDS", names: readonly string[] = []) {
  const problems: ResourceProblem[] = [];
  const source = createResourceSource({ onProblem: (problem) => problems.push(problem) });
  const { resources } = names.length > 0 ? source.named(view, type, names) : source.all(view, type);
  return {
    names: resources.map(({ name }) => name),
    text: resources.map((resource) => String(resource.any)).join("\n"),
    problems: problems.map(({ effect, reason, object: of }) => ({ effect, reason, object: of })),
  };
}

/** The view of a router in which reading that member of the object fails. */
function breaking(view: ProxyView, kind: string, name: string, path: readonly (string | number)[]): ProxyView {
  const { outbound } = view;
  const isMeant = (one: { readonly kind: string; readonly name: string }) => one.kind === kind && one.name === name;
  const gateways: OutboundScope["gateways"] = outbound.gateways && {
    ...outbound.gateways,
    gateways: outbound.gateways.gateways.map((one) => (isMeant(one) ? (broken(one, path) as typeof one) : one)),
    virtualServices: outbound.gateways.virtualServices.map((one) =>
      isMeant(one.object) ? (broken(one, path) as typeof one) : one,
    ),
  };
  return { ...view, outbound: { ...outbound, gateways, content: { ...outbound.content, gateways } } as OutboundScope };
}

function breakingServices(view: ProxyView, name: string, path: readonly string[]): ProxyView {
  return withEgress(view, (egress) => ({
    ...egress,
    services: egress.services.map((one) => (one.name === name ? (broken(one, path) as typeof one) : one)),
  }));
}

function breakingRule(view: ProxyView, name: string, path: readonly (string | number)[]): ProxyView {
  return withEgress(view, (egress) => ({
    ...egress,
    virtualServices: egress.virtualServices.map((one) =>
      one.object.name === name ? (broken(one, path) as typeof one) : one,
    ),
  }));
}

type Egress = OutboundScope["egress"][number];

function withEgress(view: ProxyView, change: (egress: Egress) => Egress): ProxyView {
  const egress = view.outbound.egress.map(change);
  return {
    ...view,
    outbound: { ...view.outbound, egress, content: { ...view.outbound.content, egress } },
  } as ProxyView;
}

function brokenTargets({ inbound }: ProxyView, name: string, path: readonly string[]) {
  return inbound.targets.map((target) =>
    target.service.name === name
      ? { ...target, service: broken(target.service, path) as typeof target.service }
      : target,
  );
}

/** A copy of the value in which reading the member fails. */
function broken(value: unknown, [member = "", ...rest]: readonly (string | number)[]): unknown {
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string | number, unknown>;
  if (rest.length > 0) copy[member] = broken(copy[member], rest);
  else {
    Object.defineProperty(copy, member, {
      enumerable: true,
      get: () => {
        throw new Error("broken");
      },
    });
  }
  return copy;
}
