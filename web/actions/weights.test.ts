import fc from "fast-check";
import { expect, test } from "vitest";
import { presentWeights, rebalance } from "./weights.ts";

test.each([
  { before: { v1: 100, v2: 0 }, version: "v2", wanted: 20, after: { v1: 80, v2: 20 } },
  { before: { v1: 60, v2: 30, v3: 10 }, version: "v3", wanted: 40, after: { v1: 40, v2: 20, v3: 40 } },
  { before: { v1: 100, v2: 0, v3: 0 }, version: "v1", wanted: 50, after: { v1: 50, v2: 25, v3: 25 } },
  { before: { v1: 50, v2: 50 }, version: "v1", wanted: 140, after: { v1: 100, v2: 0 } },
])("$version to $wanted makes $after of $before", ({ before, version, wanted, after }) => {
  expect(rebalance(before, version, wanted)).toEqual(after);
});

test("shares are whole numbers that make 100, whatever is dragged", () => {
  const some = fc.dictionary(fc.constantFrom("v1", "v2", "v3", "v4"), fc.nat(100), { minKeys: 2 });
  fc.assert(
    fc.property(some, fc.float({ min: -50, max: 150, noNaN: true }), (weights, wanted) => {
      const values = Object.values(rebalance(weights, Object.keys(weights)[0] ?? "", wanted));
      expect(values.every((value) => Number.isInteger(value) && value >= 0)).toBe(true);
      expect(values.reduce((sum, value) => sum + value, 0)).toBe(100);
    }),
  );
});

test.each([
  { rows: [row("v1", 80, 0.7), row("v2", 20, 0.3)], weights: { v1: 80, v2: 20 } },
  { rows: [row("v1", undefined, 0.334), row("v2", undefined, 0.666)], weights: { v1: 33, v2: 67 } },
  { rows: [row("v1", undefined, 0), row("v2", undefined, 0)], weights: { v1: 100, v2: 0 } },
  { rows: [row("v1", 100, 1), row("v2", undefined, 0)], weights: { v1: 100, v2: 0 } },
])("a slider begins at $weights", ({ rows, weights }) => {
  expect(presentWeights(rows)).toEqual(weights);
});

function row(label: string, weight: number | undefined, share: number) {
  return { label, weight, share };
}
