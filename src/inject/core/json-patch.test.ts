import fc from "fast-check";
import { expect, test } from "vitest";
import { applyPatch } from "./documents/uninject-document.ts";
import { createPatch } from "./json-patch.ts";

const key = fc.constantFrom("a", "b", "a/b", "m~n", "name", "");
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.integer({ min: 0, max: 3 }),
    fc.constantFrom("x", "", null, true),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

test("a patch applied to the document it was made for gives the other document", () => {
  fc.assert(
    fc.property(json, json, (before, after) => {
      expect(applyPatch(before, createPatch(before, after))).toEqual(after);
    }),
    { numRuns: 500 },
  );
});

test("equal documents need no operation, regardless of their content", () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(createPatch(value, structuredClone(value))).toEqual([]);
    }),
  );
});

test("a container added in the middle is one operation, and pointers are escaped", () => {
  const before = { containers: [{ name: "a" }, { name: "b" }], labels: {} };
  const after = { containers: [{ name: "a" }, { name: "x" }, { name: "b" }], labels: { "k/v~w": "1" } };
  expect(createPatch(before, after)).toEqual([
    { op: "add", path: "/containers/1", value: { name: "x" } },
    { op: "add", path: "/labels/k~1v~0w", value: "1" },
  ]);
});
