import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { createNameList, createNameLists, hasExactly, NO_NAMES } from "./name-list.ts";

test.each([
  { order: "the same", asked: ["a", "b", "c"] },
  { order: "another", asked: ["c", "a", "b"] },
  { order: "another, with one twice", asked: ["b", "c", "a", "b"] },
])("names asked for in $order order are one value", ({ asked }) => {
  const toNameList = createNameLists();
  const first = toNameList(["a", "b", "c"]);
  expect(toNameList(asked)).toBe(first);
  expect(toNameList(asked)).toBe(first);
  expect(first.list).toEqual(["a", "b", "c"]);
});

test.each([
  { first: ["a\0b"], second: ["a", "b"] },
  { first: ["a\0b", "c"], second: ["a", "b\0c"] },
  { first: ['a","b'], second: ["a", "b"] },
])("whatever is in names, $first does not stand for $second", ({ first, second }) => {
  const toNameList = createNameLists();
  toNameList(first);
  expect(toNameList(second).list).toEqual(second);
});

test("whoever comes first, two lists are one value exactly when they have the same names", () => {
  const names = fc.array(fc.constantFrom("a", "b", "ab", "c", "a\0b", "b\0c", 'a","b'), { maxLength: 5 });
  fc.assert(
    fc.property(fc.array(names, { minLength: 2, maxLength: 6 }), (requests) => {
      const toNameList = createNameLists();
      const lists = requests.map(toNameList);
      const texts = requests.map((asked) => JSON.stringify([...new Set(asked)].sort()));
      for (const [place, list] of lists.entries()) {
        expect(JSON.stringify(list.list)).toBe(texts[place]);
        expect(list).toBe(lists[texts.indexOf(texts[place] ?? "")]);
      }
    }),
  );
});

test("a frozen list that comes again is not looked at again", () => {
  const toNameList = createNameLists();
  const names = Object.freeze(["b", "a"]);
  const list = toNameList(names);
  const hash = vi.spyOn(JSON, "stringify");
  expect(toNameList(names)).toBe(list);
  expect(hash).not.toHaveBeenCalled();
  hash.mockRestore();
  expect(toNameList(["a", "b"])).toBe(list);
});

test("no names are always the same nothing", () => {
  expect(createNameLists()([])).toBe(NO_NAMES);
});

test("a list is exactly the names of a request regardless of their order and repetition", () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { maxLength: 8 }), fc.array(fc.string(), { maxLength: 8 }), (known, names) => {
      const equal =
        new Set(known).size === new Set([...known, ...names]).size && new Set(names).size === new Set(known).size;
      expect(hasExactly(createNameList(known), names)).toBe(equal);
      expect(hasExactly(createNameList(known), [...known, ...known].reverse())).toBe(true);
    }),
  );
  expect(hasExactly(createNameList(["a", "b"]), ["a", "a"])).toBe(false);
});
