import { describe, expect, test } from "vitest";
import { meshOfCase, nodeOfCase } from "../../test/support/mesh-model/view-of-case.ts";
import { snapshotOfObjects } from "../discovery/snapshot-of-objects.ts";
import { createResourceSource } from "../envoy-config/index.ts";
import type { Origin } from "../simulate/index.ts";
import { originsOf } from "./origins-of.ts";
import { refineOrigins } from "./refine-origins.ts";
import { resourcesOf } from "./resources-of.ts";
import { explainWhy } from "./why.ts";

type Json = Readonly<Record<string, unknown>>;

const GROUPS: Readonly<Record<string, string>> = {
  AuthorizationPolicy: "security.istio.io/v1",
  PeerAuthentication: "security.istio.io/v1",
  RequestAuthentication: "security.istio.io/v1",
  Telemetry: "telemetry.istio.io/v1",
  EnvoyFilter: "networking.istio.io/v1alpha3",
  Service: "v1",
  Pod: "v1",
};
const object = (kind: string, name: string, spec: Json, metadata: Json = {}) => ({
  apiVersion: GROUPS[kind] ?? "networking.istio.io/v1",
  kind,
  metadata: { name, namespace: "prod", ...metadata },
  spec,
});
const app = (name: string) => ({ selector: { matchLabels: { app: name } } });
const service = (name: string, address: string, namespace = "prod") =>
  object(
    "Service",
    name,
    { clusterIP: address, selector: { app: name }, ports: [{ name: "http", port: 80 }] },
    { namespace },
  );
const pod = (name: string, podIP: string) => ({
  ...object("Pod", name, { containers: [{ name: "app" }] }, { labels: { app: name } }),
  status: { podIP, phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
});
const OLD = { creationTimestamp: "2020-01-01T00:00:00Z" };
const NEW = { creationTimestamp: "2021-01-01T00:00:00Z" };
const routeTo = (host: string, timeout: string) => ({ timeout, route: [{ destination: { host } }] });
const pool = (maxConnections: number) => ({ connectionPool: { tcp: { maxConnections } } });
const lua = (context: string) => ({
  configPatches: [
    {
      applyTo: "HTTP_FILTER",
      match: { context, listener: { filterChain: { filter: { name: HCM } } } },
      patch: {
        operation: "INSERT_BEFORE",
        value: { name: "lua", typed_config: { "@type": LUA, default_source_code: { inline_string: "" } } },
      },
    },
  ],
});
const HCM = "envoy.filters.network.http_connection_manager";
const LUA = "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua";

/** Each kind touches something and leaves the rest alone; where two say something about the same, one is overruled. */
const OBJECTS = [
  service("web", "10.1.0.1"),
  service("api", "10.1.0.2"),
  service("db", "10.1.0.3"),
  service("far", "10.1.0.4", "other"),
  pod("web", "10.0.0.1"),
  pod("api", "10.0.0.2"),
  object("VirtualService", "api-old", { hosts: ["api"], http: [routeTo("api", "2s")] }, OLD),
  object("VirtualService", "api-new", { hosts: ["api"], http: [routeTo("api", "3s")] }, NEW),
  object("VirtualService", "db", { hosts: ["db"], http: [routeTo("db", "4s")] }),
  object("DestinationRule", "api-old", { host: "api", trafficPolicy: pool(7) }, OLD),
  object("DestinationRule", "api-new", { host: "api", trafficPolicy: pool(8) }, NEW),
  object("Sidecar", "own", {
    workloadSelector: { labels: { app: "web" } },
    egress: [{ hosts: ["prod/*"] }],
    outboundTrafficPolicy: { mode: "REGISTRY_ONLY" },
  }),
  object("AuthorizationPolicy", "of-web", { ...app("web"), rules: [{ to: [{ operation: { ports: ["80"] } }] }] }),
  object("AuthorizationPolicy", "of-api", { ...app("api"), rules: [{ to: [{ operation: { ports: ["80"] } }] }] }),
  object("PeerAuthentication", "mesh", { mtls: { mode: "STRICT" } }, { namespace: "istio-system" }),
  object("PeerAuthentication", "web", { ...app("web"), mtls: { mode: "PERMISSIVE" } }),
  object("Telemetry", "logs", {
    accessLogging: [{ providers: [{ name: "envoy" }], match: { mode: "CLIENT" } }],
  }),
  object("EnvoyFilter", "inbound", { workloadSelector: { labels: { app: "web" } }, ...lua("SIDECAR_INBOUND") }),
  object("EnvoyFilter", "gateway", lua("GATEWAY")),
  object("Gateway", "edge", {
    selector: { app: "edge" },
    servers: [{ port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
  }),
  object("VirtualService", "edge", {
    hosts: ["shop.example.com"],
    gateways: ["edge"],
    http: [{ route: [{ destination: { host: "api" } }] }],
  }),
];

const MESH = `
extensionProviders:
- name: envoy
  envoyFileAccessLog: { path: /dev/stdout }
`;
const nodeOf = (type: string, name: string, address: string) => ({
  id: `${type}~${address}~${name}.prod~prod.svc.cluster.local`,
  metadata: { NAMESPACE: "prod", LABELS: { app: name }, INSTANCE_IPS: address },
});
const viewOf = (type: string, name: string, address: string) =>
  snapshotOfObjects(OBJECTS, meshOfCase(MESH)).view(nodeOfCase(nodeOf(type, name, address)));
const web = () => viewOf("sidecar", "web", "10.0.0.1");
const router = () => viewOf("router", "edge", "10.0.0.9");

function why(view: ReturnType<typeof web>, type: "cds" | "eds" | "lds" | "rds", name: string) {
  const { resources } = resourcesOf(view, [type]);
  const [found] = refineOrigins(view, explainWhy(resources, name, originsOf(view)), { resources });
  const texts = (origins: readonly Origin[]) =>
    origins.map(
      ({ kind, namespace, name: own, overruledBy }) =>
        `${kind} ${namespace}/${own}${overruledBy === undefined ? "" : ` < ${overruledBy}`}`,
    );
  return {
    whole: texts(found?.origins ?? []),
    part: (kind: string, part: string) =>
      texts(found?.parts.find((one) => one.kind === kind && one.name === part)?.origins ?? []),
  };
}

const API = "outbound|80||api.prod.svc.cluster.local";
const DB = "outbound|80||db.prod.svc.cluster.local";

describe("origins of a sidecar's resources", () => {
  test("a cluster comes from its service and the older of two DestinationRules", () => {
    expect(why(web(), "cds", API).whole).toEqual([
      "Service prod/api",
      "DestinationRule prod/api-old",
      "DestinationRule prod/api-new < DestinationRule prod/api-old",
    ]);
    expect(why(web(), "cds", DB).whole).toEqual(["Service prod/db"]);
  });

  test("a virtual host comes from the older of two VirtualServices, and not from rules about others", () => {
    const { part } = why(web(), "rds", "api.prod.svc.cluster.local");
    const rules = ["VirtualService prod/api-old", "VirtualService prod/api-new < VirtualService prod/api-old"];
    expect(part("route", "api.prod.svc.cluster.local:80 0")).toEqual(rules);
    expect(new Set(part("virtual host", "api.prod.svc.cluster.local:80"))).toEqual(
      new Set([...rules, "Service prod/api"]),
    );
  });

  test("what a service of no rule is about comes from the Sidecar, where it says so", () => {
    expect(why(web(), "rds", "block_all").part("virtual host", "block_all")).toEqual(["Sidecar prod/own"]);
    expect(why(web(), "lds", "virtualOutbound").whole).toEqual(["Sidecar prod/own", "Telemetry prod/logs"]);
  });

  test("the inbound listener comes from what selects the workload", () => {
    const { whole, part } = why(web(), "lds", "virtualInbound");
    const modes = [
      "PeerAuthentication prod/web",
      "PeerAuthentication istio-system/mesh < PeerAuthentication prod/web",
    ] as const;
    const rules = ["AuthorizationPolicy prod/of-web", modes[0], "EnvoyFilter prod/inbound", modes[1]];
    expect(whole).toEqual(["Service prod/web", ...rules]);
    expect(part("mutual TLS", "port 80")).toEqual(modes);
    expect(part("filter chain", "port 80")).toEqual(whole);
    // Chains of no port are there as well, for what no service has.
    expect(part("filter chain", "other ports")).toEqual(rules);
  });

  test("of objects that say the same, the one that counts overrules the other", () => {
    const strict = OBJECTS.map((one) =>
      one.kind === "PeerAuthentication" ? { ...one, spec: { ...one.spec, mtls: { mode: "STRICT" } } } : one,
    );
    const view = snapshotOfObjects(strict, meshOfCase(MESH)).view(nodeOfCase(nodeOf("sidecar", "web", "10.0.0.1")));
    expect(why(view, "lds", "virtualInbound").part("mutual TLS", "port 80")).toEqual([
      "PeerAuthentication prod/web",
      "PeerAuthentication istio-system/mesh < PeerAuthentication prod/web",
    ]);
  });

  test("an outbound listener comes from its services and the Telemetry of clients", () => {
    expect(why(web(), "lds", "0.0.0.0_80").whole).toEqual([
      "Service prod/api",
      "Service prod/db",
      "Service prod/web",
      "Sidecar prod/own",
      "Telemetry prod/logs",
    ]);
  });

  test("more objects than are tried out one by one are halved", () => {
    const many = Array.from({ length: 100 }, (_, index) =>
      object("DestinationRule", `rule-${index}`, { host: `host-${index}`, trafficPolicy: pool(9) }, NEW),
    );
    const mesh = snapshotOfObjects([...many, ...OBJECTS], meshOfCase(MESH));
    const view = mesh.view(nodeOfCase(nodeOf("sidecar", "web", "10.0.0.1")));
    expect(why(view, "cds", API).whole).toEqual(why(web(), "cds", API).whole);
  });
});

describe("in a mesh with hundreds of objects of a kind", () => {
  const others = Array.from({ length: 450 }, (_, index) => [
    service(`other-${index}`, `10.2.${index >> 8}.${index & 255}`),
    object("VirtualService", `other-${index}`, { hosts: [`other-${index}`], http: [routeTo(`other-${index}`, "9s")] }),
    object("DestinationRule", `other-${index}`, { host: `other-${index}`, trafficPolicy: pool(9) }),
    object("AuthorizationPolicy", `other-${index}`, app(`other-${index}`)),
    object("PeerAuthentication", `other-${index}`, { ...app(`other-${index}`), mtls: { mode: "STRICT" } }),
  ]).flat();
  const large = (...more: readonly Json[]) =>
    snapshotOfObjects([...others, ...OBJECTS, ...more], meshOfCase(MESH)).view(
      nodeOfCase(nodeOf("sidecar", "web", "10.0.0.1")),
    );

  test.each([
    ["cds", API],
    ["lds", "virtualInbound"],
    ["lds", "virtualOutbound"],
    ["rds", "api.prod.svc.cluster.local"],
  ] as const)("%s %s comes from the objects that it comes from in a small one, to the end", (type, name) => {
    const refine = (view: ReturnType<typeof web>) => {
      const { resources } = resourcesOf(view, [type]);
      return refineOrigins(view, explainWhy(resources, name, originsOf(view)), { resources });
    };
    const [found] = refine(large());
    expect(found).toEqual(refine(web())[0]);
    expect(found).not.toHaveProperty("notTried");
  });

  test("an object that is not about a host and takes a name from it is found among all", () => {
    const taker = object("VirtualService", "taker", { hosts: ["api.prod"], http: [{ redirect: { uri: "/" } }] });
    const view = large(taker);
    const { part } = why(view, "rds", "api.prod.svc.cluster.local");
    expect(part("virtual host", "api.prod.svc.cluster.local:80")).toContain("VirtualService prod/taker");
    const { resources } = resourcesOf(view, ["rds"]);
    const asked = explainWhy(resources, "api.prod.svc.cluster.local", originsOf(view));
    const [cut] = refineOrigins(view, asked, { resources, maxObjects: 1000 });
    expect(cut?.notTried).toContain("VirtualService");
    expect(cut?.parts[0]).toEqual(asked[0]?.parts[0]);
  });
});

describe("origins of a router's resources", () => {
  test("a listener comes from its Gateway, from patches of gateways and from what is for all of the namespace", () => {
    expect(why(router(), "lds", "0.0.0.0_8080").whole).toEqual([
      "Gateway prod/edge",
      "Telemetry prod/logs",
      "EnvoyFilter prod/gateway",
    ]);
  });

  test("servers of two Gateways on one port have filter chains of their own, and services of the port are not asked", () => {
    const secured = (name: string) =>
      object("Gateway", name, {
        selector: { app: "edge" },
        servers: [
          {
            port: { number: 80, name: "https", protocol: "HTTPS" },
            hosts: [`${name}.example.com`],
            tls: { mode: "SIMPLE", credentialName: name },
          },
        ],
      });
    const mesh = snapshotOfObjects([...OBJECTS, secured("one"), secured("two")], meshOfCase(MESH));
    const view = mesh.view(nodeOfCase(nodeOf("router", "edge", "10.0.0.9")));
    const { whole, part } = why(view, "lds", "0.0.0.0_80");
    const all = ["Telemetry prod/logs", "EnvoyFilter prod/gateway"];
    expect(whole).toEqual(["Gateway prod/one", "Gateway prod/two", ...all]);
    expect(part("filter chain", "to routes https.80.https.one.prod")).toEqual(["Gateway prod/one", ...all]);
    expect(part("filter chain", "to routes https.80.https.two.prod")).toEqual(["Gateway prod/two", ...all]);
  });

  test("a virtual host comes from the VirtualService that is bound to the Gateway", () => {
    const { part } = why(router(), "rds", "shop.example.com");
    expect(part("virtual host", "shop.example.com:8080")).toEqual(["VirtualService prod/edge", "Gateway prod/edge"]);
  });
});

test("what is served is not touched", () => {
  const view = web();
  const made = createResourceSource({ onProblem: () => undefined });
  const before = made.all(view, "LDS");
  const { resources } = resourcesOf(view, ["lds"], made);
  const { misses } = made.cache.counts;
  refineOrigins(view, explainWhy(resources, "virtualInbound", originsOf(view)), { resources });
  expect(made.all(view, "LDS")).toBe(before);
  expect(made.cache.counts.misses).toBe(misses);
});

test("without time nothing is tried out, and origins are those that the indexes know", () => {
  const view = web();
  const { resources } = resourcesOf(view, ["lds"]);
  const asked = explainWhy(resources, "virtualInbound", originsOf(view));
  expect(refineOrigins(view, asked, { resources })).not.toEqual(asked);
  const [cut] = refineOrigins(view, asked, { resources, isLate: () => true });
  expect(cut).toEqual({ ...asked[0], notTried: expect.arrayContaining(["AuthorizationPolicy", "VirtualService"]) });
});
