import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import {
  envoyFilter,
  generatePatched,
  HOST,
  LUA,
  type Match,
  OUTBOUND,
  patch,
  patched,
  subFilter,
  TYPE,
} from "../../../test/support/mesh-model/patched-mesh.ts";
import type { TestObject } from "../../../test/support/mesh-model/test-objects.ts";

describe("which proxies are patched", () => {
  const slow = (seconds: number, more: Partial<TestObject> & { spec?: object } = {}, match?: Match) =>
    envoyFilter([patch("CLUSTER", "MERGE", match, { connect_timeout: `${seconds}s` })], {
      name: `f${seconds}`,
      ...more,
    });
  const ROOT = { namespace: "istio-system" };

  test.each<{ is: string; objects: TestObject[]; seconds: number }>([
    { is: "no one says anything", objects: [], seconds: 10 },
    { is: "the namespace", objects: [slow(1)], seconds: 1 },
    { is: "another namespace", objects: [slow(1, { namespace: "prod" })], seconds: 10 },
    { is: "the mesh", objects: [slow(1, ROOT)], seconds: 1 },
    { is: "the namespace after the mesh", objects: [slow(1), slow(2, { ...ROOT, created: 9 })], seconds: 1 },
    { is: "by name, when equally old", objects: [slow(2), slow(1)], seconds: 2 },
    { is: "by age", objects: [slow(2, { created: 1 }), slow(1, { created: 2 })], seconds: 1 },
    { is: "by priority first", objects: [slow(2, { spec: { priority: -1 } }), slow(1)], seconds: 1 },
    {
      is: "workloads with the labels",
      objects: [slow(1, { spec: { workloadSelector: { labels: { app: "web" } } } })],
      seconds: 1,
    },
    {
      is: "other workloads",
      objects: [slow(1, { spec: { workloadSelector: { labels: { app: "api" } } } })],
      seconds: 10,
    },
    {
      is: "gateways",
      objects: [
        slow(1, { spec: { targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "g" }] } }),
      ],
      seconds: 10,
    },
    { is: "proxies of the version", objects: [slow(1, {}, { proxy: { proxyVersion: "^1\\.2[0-9]" } })], seconds: 1 },
    { is: "proxies of another version", objects: [slow(1, {}, { proxy: { proxyVersion: "^1\\.3" } })], seconds: 10 },
    { is: "proxies with the metadata", objects: [slow(1, {}, { proxy: { metadata: { TIER: "gold" } } })], seconds: 1 },
    {
      is: "proxies with other metadata",
      objects: [slow(1, {}, { proxy: { metadata: { TIER: "lead" } } })],
      seconds: 10,
    },
    { is: "the other direction", objects: [slow(1, {}, { context: "SIDECAR_INBOUND" })], seconds: 10 },
    { is: "gateways, by context", objects: [slow(1, {}, { context: "GATEWAY" })], seconds: 10 },
  ])("$is: $seconds s", ({ objects, seconds }) => {
    const metadata = { ISTIO_VERSION: "1.24.1", TIER: "gold" };
    expect(generatePatched(objects, { metadata }).cluster(OUTBOUND)?.connectTimeout).toBe(`${seconds}s`);
  });

  test("proxies that the same patches reach share every byte, others do not", () => {
    const { source, view } = generatePatched([slow(1, {}, { proxy: { metadata: { TIER: "gold" } } })]);
    const other = (name: string, TIER: string) =>
      view.snapshot.view(testNode({ name, address: name, metadata: { TIER } }));
    const body = (one: typeof view) => source.all(one, "CDS").sotwBody[0];
    expect(body(other("10.0.0.1", "gold"))).toBe(body(other("10.0.0.2", "gold")));
    expect(body(other("10.0.0.1", "gold"))).not.toBe(body(other("10.0.0.3", "lead")));
    expect(body(other("10.0.0.3", "lead"))).toBe(body(other("10.0.0.4", "wood")));
  });
});

test("a patch that cannot be read is reported with its place and left out; the others are applied", () => {
  const { cluster, problems } = patched(
    patch("CLUSTER", "MERGE", undefined, { connect_timout: "1s" }),
    patch("HTTP_FILTER", "INSERT_FIRST", undefined, { name: "x", typed_config: { "@type": `${TYPE}.Nobody` } }),
    patch("CLUSTER", "MERGE", undefined, { connect_timeout: "2s" }),
  );
  expect(cluster(OUTBOUND)?.connectTimeout).toBe("2s");
  expect(problems).toEqual([
    "refused-rule: envoy.config.cluster.v3.Cluster has no member connect_timout",
    "refused-rule: typed_config: no message is known by the name envoy.extensions.Nobody",
  ]);
});

test("settings of extensions are sent to whoever asks for them by name", () => {
  const { source, view } = patched(patch("EXTENSION_CONFIG", "ADD", undefined, LUA));
  const found = source.named(view, "ECDS", ["envoy.filters.http.lua", "nobody"]).resources;
  expect(found.map(({ name }) => name)).toEqual(["envoy.filters.http.lua"]);
});

/** Some of everything that patches are made of, fitting or not. */
const ANY_PATCH = fc.record({
  applyTo: fc.constantFrom(
    ...["LISTENER", "FILTER_CHAIN", "NETWORK_FILTER", "HTTP_FILTER", "LISTENER_FILTER"],
    ...["ROUTE_CONFIGURATION", "VIRTUAL_HOST", "HTTP_ROUTE", "CLUSTER", "EXTENSION_CONFIG"],
  ),
  context: fc.constantFrom("ANY", "SIDECAR_INBOUND", "SIDECAR_OUTBOUND"),
  operation: fc.constantFrom(
    ...["MERGE", "ADD", "REMOVE", "INSERT_BEFORE", "INSERT_AFTER", "INSERT_FIRST", "REPLACE", "MERGE_AND_REPLACE_LIST"],
  ),
  value: fc.constantFrom(
    {},
    { name: "x" },
    { name: "x", domains: [HOST], routes: [{ match: { prefix: "/" }, route: { cluster: "c" } }] },
    { name: "x", filters: [LUA] },
    { filter_chains: [{ filters: [] }], listener_filters: [{ name: "y" }] },
    { transport_socket: { name: "envoy.transport_sockets.tls" }, name: "z" },
    { match: { prefix: "/" }, redirect: {} },
    LUA,
  ),
  name: fc.option(fc.constantFrom("virtualInbound", "virtualOutbound", "0.0.0.0_80"), { nil: undefined }),
  sub: fc.option(fc.constantFrom("router", "cors", "nobody"), { nil: undefined }),
});

test("whatever is patched, what is left can be sent, and only patches are refused", () => {
  fc.assert(
    fc.property(fc.array(ANY_PATCH, { minLength: 1, maxLength: 6 }), (patches) => {
      const objects = patches.map(({ applyTo, context, operation, value, name, sub }) => {
        const isOfListener = !/ROUTE|HOST|CLUSTER|EXTENSION/.test(applyTo);
        const chain = applyTo === "HTTP_FILTER" && sub !== undefined ? subFilter(sub) : {};
        const listener = isOfListener ? { listener: { ...(name && { name }), ...chain } } : {};
        return patch(applyTo, operation, { context, ...listener }, value);
      });
      const { problems, source, view } = patched(...objects);
      expect(problems.filter((problem) => !problem.startsWith("refused-rule: "))).toEqual([]);
      for (const type of ["CDS", "LDS"] as const) {
        const names = source.all(view, type).resources.map(({ name }) => name);
        expect(names).toEqual([...new Set(names)]);
      }
    }),
    { numRuns: 60 },
  );
});

describe("of two things with one name the first is added, and the other is reported with its place", () => {
  const contexts = ["ANY", "SIDECAR_INBOUND", "SIDECAR_OUTBOUND"];
  const pairs = contexts.flatMap((first) => contexts.map((second) => ({ first, second })));
  test.each(["CLUSTER", "LISTENER"].flatMap((applyTo) => pairs.map((pair) => ({ applyTo, ...pair }))))(
    "$applyTo: $first, then $second",
    ({ applyTo, first, second }) => {
      const add = (context: string) => patch(applyTo, "ADD", { context }, { name: "x" });
      const { problems, source, view } = patched(add(first), add(second));
      const all = source.all(view, applyTo === "CLUSTER" ? "CDS" : "LDS").resources;
      expect(all.filter(({ name }) => name === "x")).toHaveLength(1);
      // What leaves the workload is shared by all that are alike, so that it goes before what is a workload's own.
      const refused = first === "SIDECAR_INBOUND" && second !== "SIDECAR_INBOUND" ? 0 : 1;
      const notices = `refused-rule: EnvoyFilter default/f: configPatches[${refused}]: the name x is taken`;
      expect(new Set(problems)).toEqual(new Set([notices]));
    },
  );

  test.each([
    { applyTo: "CLUSTER", name: OUTBOUND },
    { applyTo: "CLUSTER", name: "inbound|80||" },
    { applyTo: "LISTENER", name: "0.0.0.0_80" },
    { applyTo: "LISTENER", name: "virtualInbound" },
  ])("$applyTo $name is there already, whichever way it is added", ({ applyTo, name }) => {
    for (const context of contexts) {
      const { problems } = patched(patch(applyTo, "ADD", { context }, { name }));
      expect(problems[0]).toBe(`refused-rule: EnvoyFilter default/f: configPatches[0]: the name ${name} is taken`);
    }
  });
});
