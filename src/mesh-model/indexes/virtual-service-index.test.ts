import { describe, expect, test } from "vitest";
import { documents, type TestObject, virtualService } from "../../../test/support/mesh-model/test-objects.ts";
import { type ConfigObject, compareAge } from "../../istio-api/config-object.ts";
import { parseConfigText } from "../../istio-api/decode/parse-config-text.ts";
import { buildVirtualServiceIndex } from "./virtual-service-index.ts";

const SETTINGS = { domainSuffix: "cluster.local", defaultVirtualServiceExportTo: ["*"] };

function rules(...objects: readonly TestObject[]): readonly ConfigObject<"VirtualService">[] {
  const parsed = parseConfigText(documents(...objects));
  expect(parsed.problems.filter(({ severity }) => severity === "error")).toEqual([]);
  return parsed.objects.filter((object) => object.kind === "VirtualService").sort(compareAge);
}

const index = (...objects: readonly TestObject[]) => buildVirtualServiceIndex(rules(...objects), SETTINGS);
const to = (host: string, more: Record<string, unknown> = {}) => ({ route: [{ destination: { host, ...more } }] });

describe("names in a rule", () => {
  test("short hosts and destinations of every kind mean services beside the rule", () => {
    const [rule] = index(
      virtualService("r", ["web", "*.example", "a.b"], {
        namespace: "prod",
        http: [
          { ...to("web"), mirror: { host: "shadow" } },
          { ...to("x.y"), mirrors: [{ destination: { host: "other" } }] },
        ],
        tls: [{ match: [{ sniHosts: ["a.b"] }], ...to("secure") }],
        tcp: [to("raw", { subset: "v1", port: { number: 9 } })],
      }),
    ).rules;
    const full = (name: string) => `${name}.prod.svc.cluster.local`;
    expect(rule?.hosts).toEqual([full("web"), "*.example", "a.b"]);
    expect(rule?.spec.hosts).toEqual(rule?.hosts);
    expect(rule?.spec.http[0]).toMatchObject({ ...to(full("web")), mirror: { host: full("shadow") } });
    expect(rule?.spec.http[1]).toMatchObject({ ...to("x.y"), mirrors: [{ destination: { host: full("other") } }] });
    expect(rule?.spec.tls[0]).toMatchObject(to(full("secure")));
    expect(rule?.spec.tcp[0]).toMatchObject(to(full("raw"), { subset: "v1", port: { number: 9 } }));
  });

  test.each([
    { gateway: "mesh", is: "mesh" },
    { gateway: "edge", is: "prod/edge" },
    { gateway: "edge.infra.svc", is: "infra/edge" },
    { gateway: "infra/edge", is: "infra/edge" },
  ])("the gateway $gateway in a rule of prod is $is", ({ gateway, is }) => {
    const http = [{ match: [{ gateways: [gateway] }], ...to("web") }];
    const [rule] = index(virtualService("r", ["web.example"], { namespace: "prod", gateways: [gateway], http })).rules;
    expect(rule?.spec.gateways).toEqual([is]);
    expect(rule?.spec.http[0]?.match[0]?.gateways).toEqual([is]);
  });
});

describe("who sees a rule", () => {
  test.each([
    { is: "bound to nothing else", spec: {}, sees: true },
    { is: "bound to the mesh and a gateway", spec: { gateways: ["edge", "mesh"] }, sees: true },
    { is: "bound to a gateway only", spec: { gateways: ["edge"] }, sees: false },
    { is: "private to its namespace", spec: { exportTo: ["."] }, sees: false },
    { is: "exported by name", spec: { exportTo: ["default"] }, sees: true },
  ])("one $is is seen by sidecars of another namespace: $sees", ({ spec, sees }) => {
    const made = index(virtualService("r", ["web.example"], { namespace: "prod", ...spec }));
    expect(made.visibleTo("default")).toHaveLength(sees ? 1 : 0);
    expect(made.rules).toHaveLength(1);
  });

  test("the mesh's default holds for rules that say nothing; what is for a namespace alone comes first", () => {
    const given = rules(
      virtualService("a", ["a.example"], { namespace: "prod", created: 2 }),
      virtualService("b", ["b.example"], { namespace: "prod", created: 1, exportTo: ["*"] }),
    );
    const made = buildVirtualServiceIndex(given, { ...SETTINGS, defaultVirtualServiceExportTo: ["."] });
    expect(made.visibleTo("default").map(({ object }) => object.name)).toEqual(["b"]);
    expect(made.visibleTo("prod").map(({ object }) => object.name)).toEqual(["a", "b"]);
  });

  test("rules for a namespace alone, for it among others, for everybody: each by age", () => {
    const made = index(
      virtualService("all", ["x.example"], { namespace: "prod", created: 1, exportTo: ["*"] }),
      virtualService("named", ["x.example"], { namespace: "other", created: 2, exportTo: ["prod", "default"] }),
      virtualService("own2", ["x.example"], { namespace: "prod", created: 4, exportTo: ["."] }),
      virtualService("own1", ["x.example"], { namespace: "prod", created: 3, exportTo: ["prod"] }),
    );
    expect(made.visibleTo("prod").map(({ object }) => object.name)).toEqual(["own1", "own2", "named", "all"]);
    expect(made.visibleTo("default").map(({ object }) => object.name)).toEqual(["named", "all"]);
  });
});

describe("delegation", () => {
  const root = (...delegates: readonly Record<string, string>[]) =>
    virtualService("root", ["web"], {
      http: delegates.map((delegate, at) => ({ name: `r${at}`, match: [{ uri: { prefix: `/${at}` } }], delegate })),
    });
  const delegate = (name: string, namespace: string, spec: Record<string, unknown> = {}) => ({
    kind: "VirtualService",
    name,
    namespace,
    spec: { http: [{ name, ...to("target") }], ...spec },
  });
  const routes = (...objects: readonly TestObject[]) =>
    index(...objects).rules.find(({ object }) => object.name === "root")?.spec.http ?? [];

  test("a delegate's destinations are beside the delegate, its routes where the root names it", () => {
    const http = routes(
      root({ name: "d2", namespace: "prod" }, { name: "d1" }),
      delegate("d1", "default"),
      delegate("d2", "prod"),
    );
    expect(http.map(({ name }) => name)).toEqual(["r0-d2", "r1-d1"]);
    expect(http[0]).toMatchObject({ match: [{ uri: { prefix: "/0" } }], ...to("target.prod.svc.cluster.local") });
    expect(http[1]).toMatchObject(to("target.default.svc.cluster.local"));
    expect(http.every((route) => route.delegate === undefined)).toBe(true);
  });

  test("one delegate may serve two routes of its root", () => {
    const http = routes(root({ name: "d" }, { name: "d" }), delegate("d", "default"));
    expect(http.map(({ name, match }) => [name, match[0]?.uri?.prefix])).toEqual([
      ["r0-d", "/0"],
      ["r1-d", "/1"],
    ]);
  });

  test.each([
    { is: "missing", objects: [] },
    { is: "hidden", objects: [delegate("d", "prod", { exportTo: ["."] })] },
    { is: "a rule with hosts", objects: [virtualService("d", ["x.example"], { namespace: "prod" })] },
  ])("a route whose delegate is $is does not exist, the others do", ({ objects }) => {
    const http = routes(root({ name: "ok" }, { name: "d", namespace: "prod" }), delegate("ok", "default"), ...objects);
    expect(http.map(({ name }) => name)).toEqual(["r0-ok"]);
  });

  test("a delegate is not a rule of its own", () => {
    expect(index(delegate("d", "default")).rules).toEqual([]);
  });

  test("a rule is made again when its delegate changes, and only then", () => {
    const roots = rules(root({ name: "d" }), virtualService("zz", ["z.example"]));
    const [first] = rules(delegate("d", "default"));
    const [second] = rules(delegate("d", "default", { http: [{ name: "new", ...to("target") }] }));
    if (first === undefined || second === undefined) throw new Error("no delegate");
    const before = buildVirtualServiceIndex([first, ...roots], SETTINGS);
    const after = buildVirtualServiceIndex([second, ...roots], SETTINGS, before);
    expect(after.rules[0]?.spec.http[0]?.name).toBe("r0-new");
    expect(after.rules[0]).not.toBe(before.rules[0]);
    expect(after.rules[1]).toBe(before.rules[1]);
  });
});

describe("an index that follows another", () => {
  const given = rules(
    virtualService("a", ["a.example"]),
    virtualService("b", ["b.example"], { namespace: "prod", exportTo: ["."] }),
  );

  test("is the same value when nothing changed, and another when names mean something else", () => {
    const before = buildVirtualServiceIndex(given, SETTINGS);
    expect(buildVirtualServiceIndex([...given], { ...SETTINGS }, before)).toBe(before);
    expect(buildVirtualServiceIndex(given, { ...SETTINGS, domainSuffix: "mesh" }, before)).not.toBe(before);
  });

  test("gives a namespace the same list when its rules did not change", () => {
    const before = buildVirtualServiceIndex(given, SETTINGS);
    const seen = before.visibleTo("default");
    const after = buildVirtualServiceIndex(given.slice(0, 1), SETTINGS, before);
    expect(after.visibleTo("default")).toBe(seen);
    expect(after.visibleTo("prod")).not.toEqual(before.visibleTo("prod"));
  });
});

test("source labels are known by name, from any kind of route", () => {
  const match = (name: string) => [{ sourceLabels: { [name]: "x" } }];
  const made = index(
    virtualService("a", ["a.example"], {
      http: [{ match: match("h"), ...to("x") }],
      tcp: [{ match: match("t"), ...to("x") }],
      tls: [{ match: [{ sniHosts: ["a.example"], sourceLabels: { s: "x" } }], ...to("x") }],
    }),
  );
  expect([...made.sourceLabels].sort()).toEqual(["h", "s", "t"]);
});

test("routes whose names are in full are the given ones, not copies; only the others are made", () => {
  const given = rules(
    virtualService("web", ["web.ns.svc.cluster.local"], { http: [to("a.ns.svc.cluster.local"), to("b")] }),
  );
  const [rule] = buildVirtualServiceIndex(given, SETTINGS).rules;
  const routes = given[0]?.spec.http;
  expect(rule?.spec.http[0]).toBe(routes?.[0]);
  expect(rule?.spec.http[1]).not.toBe(routes?.[1]);
  expect(rule?.spec.http[1]?.match).toBe(routes?.[1]?.match);
});
