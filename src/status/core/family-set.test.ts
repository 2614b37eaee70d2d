import fc from "fast-check";
import { expect, test } from "vitest";
import { FamilySet } from "./family-set.ts";

test("it is a set of names", () => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.string(), (names, other) => {
      const set = new FamilySet();
      for (const name of names) set.add(name);
      for (const name of names) expect(set.has(name)).toBe(true);
      expect(set.has(other)).toBe(names.includes(other));
    }),
  );
});

test("many names fit without a mistake, and past the limit no more are taken", () => {
  const set = new FamilySet();
  let taken = 0;
  while (set.add(`family_${taken}_total`)) taken++;
  expect(taken).toBeGreaterThan(200_000);
  expect(set.has("family_77_total")).toBe(true);
  expect(set.has(`family_${taken + 5}_total`)).toBe(false);
  expect(set.add("family_77_total")).toBe(true);
});
