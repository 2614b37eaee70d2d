import fc from "fast-check";
import { expect, test } from "vitest";
import { deepFreeze } from "../../base/deep-freeze.ts";
import { cutList, PieceJoiner } from "./value-pieces.ts";

function join(items: readonly unknown[]): {
  readonly list: unknown;
  readonly pieces: number;
  readonly largest: number;
} {
  const joiner = new PieceJoiner(deepFreeze);
  let pieces = 0;
  let largest = 0;
  for (const piece of cutList(items)) {
    pieces++;
    largest = Math.max(largest, JSON.stringify(piece.entries).length);
    const list = joiner.add(structuredClone(piece));
    if (list !== undefined) return { list, pieces, largest };
  }
  throw new Error("no piece was the last");
}

const route = (index: number) => ({
  match: [{ uri: { prefix: `/${index}` } }],
  route: [{ destination: { host: "a" } }],
});
const many = <Value>(count: number, of: (index: number) => Value) =>
  Array.from({ length: count }, (_, index) => of(index));

test.each([
  { name: "nothing", items: [] },
  { name: "small items", items: [1, "a", null, { a: [true] }] },
  { name: "many small items", items: many(20_000, (index) => ({ index })) },
  { name: "one large list", items: [{ spec: { http: many(20_000, route) }, after: 1 }, "next"] },
  { name: "one large map", items: [{ ...Object.fromEntries(many(50_000, (index) => [`k${index}`, index])), z: [] }] },
  { name: "large in large", items: [many(5, () => ({ a: many(5_000, route), b: {} }))] },
  {
    name: "a member named __proto__",
    items: [JSON.parse(`{"__proto__": [${many(9_000, String)}], "b": {"__proto__": 1}}`)],
  },
])("$name comes out as it was, in pieces of bounded size", ({ items }) => {
  const { list, largest } = join(items);
  expect(list).toEqual(items);
  expect(JSON.stringify(list)).toBe(JSON.stringify(items));
  expect(largest).toBeLessThan(300_000);
});

test("a large list is in many pieces, a small one in one", () => {
  expect(join([route(1)]).pieces).toBe(1);
  expect(join([many(20_000, route)]).pieces).toBeGreaterThan(20);
});

test("any JSON data comes out as it was, frozen", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), (items) => {
      const { list } = join(items);
      expect(JSON.stringify(list)).toBe(JSON.stringify(items));
      expect(Object.isFrozen(list)).toBe(true);
    }),
  );
});
