import { expect, test } from "vitest";
import { endpointOf } from "../../../test/support/discovery/endpoint.ts";
import { formatLocality, parseLocality } from "../../mesh-model/locality.ts";
import { groupByLocality } from "./lb-endpoint.ts";
import { distributeByWeight } from "./locality-lb.ts";

const groups = groupByLocality([
  endpointOf("1", { place: "r1/z1/s1" }),
  endpointOf("2", { place: "r1/z1/s2", weight: 3 }),
  endpointOf("3", { place: "r1/z2/s1" }),
  endpointOf("4", { place: "r2/z1/s1" }),
]);

const shares = (client: string, from: string, to: Record<string, number>) =>
  Object.fromEntries(
    distributeByWeight(groups, parseLocality(client), [{ from, to }]).map(({ locality, weight }) => [
      formatLocality(locality),
      weight,
    ]),
  );

test.each([
  {
    from: "r1/*",
    to: { "r1/*": 80, "r2/*": 20 },
    gives: { "r1/z1/s1": 16, "r1/z1/s2": 48, "r1/z2/s1": 16, "r2/z1/s1": 20 },
  },
  { from: "r1/z1/*", to: { "r1/z1/*": 100 }, gives: { "r1/z1/s1": 25, "r1/z1/s2": 75 } },
  { from: "r1/z1/s1", to: { "r1/z1/s1": 1, "r2/z1/s1": 99 }, gives: { "r1/z1/s1": 1, "r2/z1/s1": 99 } },
  { from: "*", to: { "r2/*": 100 }, gives: { "r2/z1/s1": 100 } },
  { from: "r1/z1/s1", to: { "r9/*": 100 }, gives: {} },
])("traffic from $from to $to is weighted $gives", ({ from, to, gives }) => {
  expect(shares("r1/z1/s1", from, to)).toEqual(gives);
});

test("weights are never rounded to nothing", () => {
  expect(shares("r1/z1/s1", "*", { "r1/*": 1, "r2/*": 99 })).toEqual({
    "r1/z1/s1": 1,
    "r1/z1/s2": 1,
    "r1/z2/s1": 1,
    "r2/z1/s1": 99,
  });
});

test.each(["r2/z1/s1", "r1/z2/s1", ""])(
  "a client in '%s', of which nothing is said, spreads as if nothing was",
  (client) => {
    expect(distributeByWeight(groups, parseLocality(client), [{ from: "r1/z1/*", to: { "r1/*": 100 } }])).toBe(groups);
  },
);

test("the first distribution that covers the client counts", () => {
  const chosen = distributeByWeight(groups, parseLocality("r1/z1/s1"), [
    { from: "r1/z1/s1", to: { "r2/*": 100 } },
    { from: "r1/*", to: { "r1/*": 100 } },
  ]);
  expect(chosen.map(({ locality }) => locality.region)).toEqual(["r2"]);
});
