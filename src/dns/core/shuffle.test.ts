import fc from "fast-check";
import { expect, test } from "vitest";
import { createRandom16, shuffle } from "./shuffle.ts";

const countingFrom = (start: number) => {
  let count = start;
  return () => ++count;
};

test.each([
  { start: 2, items: [11, 12, 13, 14], order: [13, 14, 12, 11] },
  { start: 1, items: [11, 12, 13, 14], order: [13, 14, 11, 12] },
  { start: 1, items: [1, 2], order: [2, 1] },
  { start: 2, items: [1, 2], order: [1, 2] },
  { start: 7, items: [1], order: [1] },
  { start: 7, items: [], order: [] },
])("draws counted from $start turn $items into $order", ({ start, items, order }) => {
  const shuffled = [...items];
  shuffle(shuffled, countingFrom(start));
  expect(shuffled).toEqual(order);
});

test("nothing is lost, regardless of the numbers drawn", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 50 }), fc.integer(), (items, seed) => {
      const shuffled = [...items];
      shuffle(shuffled, createRandom16(seed));
      expect(shuffled.toSorted()).toEqual(items.toSorted());
    }),
  );
});

test("every item comes first about as often as any other", () => {
  const random = createRandom16(12_345);
  const first = [0, 0, 0, 0];
  for (let round = 0; round < 4_000; round++) {
    const items = [0, 1, 2, 3];
    shuffle(items, random);
    const winner = items[0] ?? 0;
    first[winner] = (first[winner] ?? 0) + 1;
  }
  for (const count of first) expect(count).toBeGreaterThan(600);
});
