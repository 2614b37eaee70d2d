import { describe, expect, test } from "vitest";
import { createFlagValues, flagValue, formatFlagValue } from "./flag-values.ts";
import type { FlagSpec } from "./flags.ts";

const PORT: FlagSpec = { name: "port", type: "int", default: 1, usage: "", env: ["EXTRA_PORT", "PORT"] };
const LIMIT: FlagSpec = { name: "limit", type: "duration", default: 5_000_000_000n, usage: "" };
const TARGET: FlagSpec = { name: "target", type: "stringArray", default: ["stdout"], usage: "" };
const SPECS = [PORT, LIMIT, TARGET];

describe("command line over additional environment over environment over default", () => {
  test.each([
    { set: 4, env: { EXTRA_PORT: "3", PORT: "2" }, value: 4 },
    { set: undefined, env: { EXTRA_PORT: "3", PORT: "2" }, value: 3 },
    { set: undefined, env: { PORT: "2" }, value: 2 },
    { set: undefined, env: { EXTRA_PORT: "x", PORT: "2" }, value: 2 },
    { set: undefined, env: { PORT: "" }, value: 1 },
    { set: undefined, env: {}, value: 1 },
  ])("set $set and environment $env give $value", ({ set, env, value }) => {
    const given = new Map(set === undefined ? [] : [["port", set]]);
    const values = createFlagValues(SPECS, given, env);
    expect({ value: values.int("port"), changed: values.changed("port") }).toEqual({
      value,
      changed: set !== undefined,
    });
  });
});

test("asking for a flag that is not declared, or by another type, is a mistake of the program", () => {
  const values = createFlagValues(SPECS, new Map(), {});
  expect(() => values.string("nope")).toThrow(TypeError);
  expect(() => values.bool("port")).toThrow(TypeError);
});

test.each([
  { value: true, text: "true" },
  { value: 16, text: "16" },
  { value: "a b", text: "a b" },
  { value: 5_400_000_000_000n, text: "1h30m0s" },
  { value: ["stdout"], text: "[stdout]" },
  { value: ["stdout", "a,b"], text: '[stdout,"a,b"]' },
  { value: ['say "x"', " y"], text: '["say ""x"""," y"]' },
  { value: [], text: "[]" },
])("$value is shown as $text", ({ value, text }) => {
  expect(formatFlagValue(value)).toBe(text);
});

test("a value is found by its flag's own type", () => {
  const values = createFlagValues(SPECS, new Map<string, number | bigint>([["limit", 1n]]), {});
  expect(SPECS.map((spec) => flagValue(values, spec))).toEqual([1, 1n, ["stdout"]]);
});
