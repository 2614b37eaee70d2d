import { describe, expect, test } from "vitest";
import { createCacheCounts, createResultCache } from "./resource-cache.ts";

/** A cache of numbers that counts its misses. */
function counting(maxEntries?: number) {
  const counts = createCacheCounts();
  const cache = createResultCache<number>(counts, maxEntries);
  let made = 0;
  const memoize = (name: string, ...inputs: readonly unknown[]) => cache.memoize(name, inputs, () => ++made);
  return { cache, counts, memoize };
}

describe("a cache", () => {
  test.each([
    { is: "the same values", inputs: [1, "a"], again: 1 },
    { is: "another value", inputs: [2, "a"], again: 2 },
    { is: "one value less", inputs: [1], again: 2 },
    { is: "one value more", inputs: [1, "a", "b"], again: 2 },
  ])("asked with $is gives result $again", ({ inputs, again }) => {
    const { memoize } = counting();
    expect(memoize("x", 1, "a")).toBe(1);
    expect(memoize("x", ...inputs)).toBe(again);
  });

  test("compares values, not what they say: an equal list is another input", () => {
    const { memoize } = counting();
    expect([memoize("x", []), memoize("x", [])]).toEqual([1, 2]);
    expect([memoize("n", Number.NaN), memoize("n", Number.NaN)]).toEqual([3, 3]);
  });

  test("forgets what is not retained, and counts it", () => {
    const { cache, counts, memoize } = counting();
    for (const name of ["a", "b", "c"]) memoize(name, 0);
    cache.retain(new Set(["b"]));
    expect(counts).toEqual({ hits: 0, misses: 3, evictions: 2, size: 1 });
    expect([memoize("b", 0), memoize("a", 0)]).toEqual([2, 4]);
  });

  test("forgets the oldest when it is full", () => {
    const { counts, memoize } = counting(2);
    for (const name of ["a", "b", "c"]) memoize(name, 0);
    expect(counts).toMatchObject({ evictions: 1, size: 2 });
    expect([memoize("b", 0), memoize("c", 0), memoize("a", 0)]).toEqual([2, 3, 4]);
  });
});
