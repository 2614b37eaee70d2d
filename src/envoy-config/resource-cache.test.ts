import { describe, expect, test } from "vitest";
import { createCacheCounts, createMemory } from "./resource-cache.ts";

/** A memory of numbers that says how often it had to make one. */
function counting(maxEntries?: number) {
  const counts = createCacheCounts();
  const memory = createMemory<number>(counts, maxEntries);
  let made = 0;
  const recall = (name: string, ...inputs: readonly unknown[]) => memory.recall(name, inputs, () => ++made);
  return { memory, counts, recall };
}

describe("a memory", () => {
  test.each([
    { is: "the same values", inputs: [1, "a"], again: 1 },
    { is: "another value", inputs: [2, "a"], again: 2 },
    { is: "one value less", inputs: [1], again: 2 },
    { is: "one value more", inputs: [1, "a", "b"], again: 2 },
  ])("asked with $is gives result $again", ({ inputs, again }) => {
    const { recall } = counting();
    expect(recall("x", 1, "a")).toBe(1);
    expect(recall("x", ...inputs)).toBe(again);
  });

  test("compares values, not what they say: an equal list is another input", () => {
    const { recall } = counting();
    expect([recall("x", []), recall("x", [])]).toEqual([1, 2]);
    expect([recall("n", Number.NaN), recall("n", Number.NaN)]).toEqual([3, 3]);
  });

  test("forgets what is not retained, and counts it", () => {
    const { memory, counts, recall } = counting();
    for (const name of ["a", "b", "c"]) recall(name, 0);
    memory.retain(new Set(["b"]));
    expect(counts).toEqual({ hits: 0, misses: 3, evictions: 2, size: 1 });
    expect([recall("b", 0), recall("a", 0)]).toEqual([2, 4]);
  });

  test("forgets the oldest when it is full", () => {
    const { counts, recall } = counting(2);
    for (const name of ["a", "b", "c"]) recall(name, 0);
    expect(counts).toMatchObject({ evictions: 1, size: 2 });
    expect([recall("b", 0), recall("c", 0), recall("a", 0)]).toEqual([2, 3, 4]);
  });
});
