import { describe, expect, test } from "vitest";
import { compareText, wellFormed } from "../base/go-text.ts";
import { equals, isLess } from "./compare.ts";
import { formatFloat } from "./format-float.ts";
import { formatValue, printValue, sprint } from "./format-value.ts";
import { marshalGoJson } from "./go-json.ts";
import { GoEnum, GoStruct, isTrue, kindOf, mapEntries, typeName } from "./values.ts";

const struct = new GoStruct("*x.T", new Map([["A", 1]]), { a: 1 }, "a:1");
const mode = new GoEnum("x.Mode", "ON", 1);

test.each([
  [undefined, "invalid", "<nil>", false],
  [null, "nil", "<nil>", false],
  [true, "bool", "bool", true],
  [0, "int", "int", false],
  [-0, "int", "int", false],
  [7, "int", "int", true],
  [7n, "int", "int", true],
  [0.5, "float", "float64", true],
  [Number.NaN, "float", "float64", true],
  ["", "string", "string", false],
  ["x", "string", "string", true],
  [[], "list", "[]interface {}", false],
  [[0], "list", "[]interface {}", true],
  [{}, "map", "map[string]interface {}", false],
  [new Map([["a", 1]]), "map", "map[string]interface {}", true],
  [Object.create(null), "map", "map[string]interface {}", false],
  [struct, "struct", "*x.T", true],
  [mode, "int", "x.Mode", true],
  [new Date(0), "opaque", "interface {}", true],
  [() => 1, "opaque", "interface {}", true],
])("%o is a Go %s of type %s, true: %s", (value, kind, type, truth) => {
  expect([kindOf(value), typeName(value), isTrue(value)]).toEqual([kind, type, truth]);
});

test.each([
  [null, "<nil>"],
  [-0, "0"],
  [[1, [2, "a"], null], "[1 [2 a] <nil>]"],
  [{ b: 1, a: { c: true } }, "map[a:map[c:true] b:1]"],
  [
    new Map<unknown, unknown>([
      [2, "x"],
      [1, "y"],
    ]),
    "map[1:y 2:x]",
  ],
  [struct, "a:1"],
  [[mode], "[ON]"],
])("%o prints as %s", (value, text) => {
  expect(formatValue(value)).toBe(text);
});

test("an action prints an absent value as such", () => {
  expect([printValue(undefined), printValue(null), printValue("x")]).toEqual(["<no value>", "<no value>", "x"]);
});

test("print puts blanks between operands that are not texts", () => {
  expect(sprint([1, 2, "a", "b", 3, true])).toBe("1 2ab3 true");
});

test("a value that contains itself prints in bounded space", () => {
  const loop: unknown[] = [];
  loop.push(loop);
  expect(formatValue(loop).length).toBeLessThan(1_000);
  expect(marshalGoJson(loop)?.length).toBeLessThan(1_000);
});

describe("order", () => {
  test("texts compare by their UTF-8 bytes", () => {
    expect(["\u{1f600}", "\uffff", "b", "a", "B", ""].sort(compareText)).toEqual([
      "",
      "B",
      "a",
      "b",
      "\uffff",
      "\u{1f600}",
    ]);
  });

  test("maps are walked by key", () => {
    expect(mapEntries({ b: 1, a: 2, B: 3 }).map(([key]) => key)).toEqual(["B", "a", "b"]);
  });

  test.each([
    [1, 2, true],
    [2n, 1n, false],
    [1, 1.5, true],
    ["a", "b", true],
    [mode, 2, true],
  ])("%s < %s is %s", (left, right, less) => {
    expect(isLess(left, right)).toBe(less);
  });

  test.each([
    [1, 1, true],
    [mode, 1, true],
    ["a", "a", true],
    [null, undefined, true],
    [null, 0, false],
    [struct, struct, true],
  ])("%s equals %s: %s", (left, right, same) => {
    expect(equals(left, right)).toBe(same);
  });
});

test.each([
  [0.5, "f", 0, "0"],
  [1.5, "f", 0, "2"],
  [2.5, "f", 0, "2"],
  [0.125, "f", 2, "0.12"],
  [0.375, "f", 2, "0.38"],
  [1e22, "f", 1, "10000000000000000000000.0"],
  [1.5e-7, "f", -1, "0.00000015"],
  [123456.5, "g", -1, "123456.5"],
  [1234567.5, "g", -1, "1.2345675e+06"],
  [0.00001, "g", -1, "1e-05"],
  [0.0001, "g", -1, "0.0001"],
  [1234.5, "e", 2, "1.23e+03"],
  [Number.POSITIVE_INFINITY, "g", -1, "+Inf"],
  [Number.NaN, "f", 2, "NaN"],
] as const)("%s as %%%s with precision %s is %s", (value, verb, precision, text) => {
  expect(formatFloat(value, verb, precision)).toBe(text);
});

test.each([
  [{ b: 1, a: "<&>" }, '{"a":"\\u003c\\u0026\\u003e","b":1}'],
  [[null, undefined, 5n, 2n ** 63n], "[null,null,5,9223372036854775808]"],
  [struct, '{"a":1}'],
  [mode, "1"],
  ["\ud800", '"\ufffd"'],
])("%o marshals to %s", (value, json) => {
  expect(marshalGoJson(value)).toBe(json);
});

test("half surrogate pairs are replaced, whole ones preserved", () => {
  expect(wellFormed("a\ud800b\udc00😀")).toBe("a\ufffdb\ufffd😀");
});
