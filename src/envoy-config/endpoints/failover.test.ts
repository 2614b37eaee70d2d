import fc from "fast-check";
import { expect, test } from "vitest";
import { endpointOf } from "../../../test/support/discovery/endpoint.ts";
import { parseLocality } from "../../mesh-model/locality.ts";
import { type FailoverClient, failover, failoverValues } from "./failover.ts";
import { groupByLocality, type LocalityGroup } from "./lb-endpoint.ts";

const client = (place: string, labels: Record<string, string> = {}): FailoverClient => ({
  labels,
  locality: parseLocality(place),
  network: "",
  clusterId: "Kubernetes",
});

/** Addresses by priority. */
function order(groups: readonly LocalityGroup[]): Record<number, string[]> {
  const found: Record<number, string[]> = {};
  for (const { priority, endpoints } of groups) {
    found[priority] = [...(found[priority] ?? []), ...endpoints.flatMap(({ addresses }) => addresses)];
  }
  return found;
}

const places = groupByLocality([
  endpointOf("same", { place: "r1/z1/s1" }),
  endpointOf("subzone", { place: "r1/z1/s2" }),
  endpointOf("zone", { place: "r1/z2/s1" }),
  endpointOf("region", { place: "r2/z1/s1" }),
  endpointOf("far", { place: "r3" }),
  endpointOf("nowhere"),
]);

test.each([
  {
    from: "r1/z1/s1",
    failover: [],
    gives: { 0: ["same"], 1: ["subzone"], 2: ["zone"], 3: ["nowhere", "region", "far"] },
  },
  {
    from: "r1/z1/s1",
    failover: [{ from: "r1", to: "r3" }],
    gives: { 0: ["same"], 1: ["subzone"], 2: ["zone"], 3: ["far"], 4: ["nowhere", "region"] },
  },
  {
    from: "r1/z1/s1",
    failover: [{ from: "r2", to: "r3" }],
    gives: { 0: ["same"], 1: ["subzone"], 2: ["zone"], 3: ["nowhere", "region", "far"] },
  },
  { from: "r9/z1/s1", failover: [], gives: { 0: ["nowhere", "same", "subzone", "zone", "region", "far"] } },
  { from: "r1/z3/s1", failover: [], gives: { 0: ["same", "subzone", "zone"], 1: ["nowhere", "region", "far"] } },
  { from: "", failover: [], gives: { 0: ["nowhere"], 1: ["same", "subzone", "zone", "region", "far"] } },
])("a client in '$from' with failover $failover tries $gives", ({ from, failover: targets, gives }) => {
  expect(order(failover(places, client(from), { failover: targets, failoverPriority: [] }))).toEqual(gives);
});

const racks = groupByLocality([
  endpointOf("both", { labels: { rack: "1", row: "a" }, place: "r1/z1" }),
  endpointOf("row", { labels: { rack: "2", row: "a" }, place: "r1/z1" }),
  endpointOf("rack", { labels: { rack: "1", row: "b" }, place: "r2/z1" }),
  endpointOf("none", { place: "r1/z2" }),
]);

test.each([
  { priority: ["row", "rack"], gives: { 0: ["both"], 1: ["row"], 2: ["none", "rack"] } },
  { priority: ["rack", "row"], gives: { 0: ["both"], 1: ["rack"], 2: ["row", "none"] } },
  { priority: ["rack=2"], gives: { 0: ["row"], 1: ["both", "none", "rack"] } },
  { priority: ["missing"], gives: { 0: ["both", "row", "none", "rack"] } },
  { priority: ["topology.kubernetes.io/region"], gives: { 0: ["both", "row", "none"], 1: ["rack"] } },
  {
    priority: ["topology.kubernetes.io/region", "topology.kubernetes.io/zone", "row"],
    gives: { 0: ["both", "row"], 1: ["none"], 2: ["rack"] },
  },
  { priority: ["topology.istio.io/cluster"], gives: { 0: ["both", "row", "none", "rack"] } },
])("an order by $priority tries $gives", ({ priority, gives }) => {
  const here = client("r1/z1", { rack: "1", row: "a" });
  expect(order(failover(racks, here, { failover: [], failoverPriority: priority }))).toEqual(gives);
});

test("another network comes last, and the rest of the order still counts there", () => {
  const groups = groupByLocality([
    endpointOf("far", { labels: { "topology.istio.io/network": "n2", rack: "2" } }),
    endpointOf("far rack", { labels: { "topology.istio.io/network": "n2", rack: "1" } }),
    endpointOf("near", { labels: { "topology.istio.io/network": "n1", rack: "2" } }),
    endpointOf("here", { labels: { "topology.istio.io/network": "n1", rack: "1" } }),
  ]);
  const setting = { failover: [], failoverPriority: ["topology.istio.io/network", "rack"] };
  expect(order(failover(groups, { ...client("", { rack: "1" }), network: "n1" }, setting))).toEqual({
    0: ["here"],
    1: ["near"],
    2: ["far rack"],
    3: ["far"],
  });
});

test("zones that Envoy balances itself are separated by region alone", () => {
  const setting = { failover: [{ from: "r1", to: "r3" }], failoverPriority: [], zoneAware: {} };
  expect(order(failover(places, client("r1/z1/s1"), setting))).toEqual({
    0: ["same", "subzone", "zone"],
    1: ["far"],
    2: ["nowhere", "region"],
  });
});

test("regions of the user come after an order by labels", () => {
  const groups = groupByLocality([
    endpointOf("near", { labels: { rack: "2" }, place: "r1" }),
    endpointOf("far", { labels: { rack: "1" }, place: "r2" }),
    endpointOf("farther", { labels: { rack: "1" }, place: "r3" }),
  ]);
  const setting = { failover: [{ from: "r1", to: "r2" }], failoverPriority: ["rack"] };
  expect(order(failover(groups, client("r1", { rack: "1" }), setting))).toEqual({
    0: ["far"],
    1: ["farther"],
    2: ["near"],
  });
});

test("the values that an order compares are the client's, or those it names", () => {
  const here = client("r1/z1/s1", { rack: "1" });
  expect(
    failoverValues(here, ["rack", "row=b", "row", "topology.istio.io/subzone", "topology.istio.io/network"]),
  ).toEqual(["1", "b", "", "s1", ""]);
});

test("no endpoint is lost, and priorities have no gaps", () => {
  const part = fc.constantFrom("", "a", "b");
  const place = fc.tuple(part, part, part).map((parts) => parts.join("/"));
  fc.assert(
    fc.property(fc.array(fc.tuple(place, part)), place, part, fc.boolean(), (all, here, rack, byLabels) => {
      const groups = groupByLocality(
        all.map(([where, label]) => endpointOf("x", { place: where, labels: { rack: label } })),
      );
      const setting = { failover: [{ from: "a", to: "b" }], failoverPriority: byLabels ? ["rack"] : [] };
      const result = failover(groups, client(here, { rack }), setting);
      expect(result.reduce((sum, { endpoints }) => sum + endpoints.length, 0)).toBe(all.length);
      const used = new Set(result.map(({ priority }) => priority));
      expect([...used].toSorted((a, b) => a - b)).toEqual([...used].map((_, index) => index));
    }),
  );
});
