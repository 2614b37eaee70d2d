import { expect, test } from "vitest";
import { changedFields, explainProblems } from "./explain-problems.ts";

const explain = (field: string, config: object) =>
  explainProblems([{ field, message: "wrong" }], config, (name) => `source of ${name}`)[0];

test.each([
  { field: "statusPort", config: { statusPort: 0 }, value: "0" },
  { field: "a.b[1].c", config: { a: { b: [{}, { c: true }] } }, value: "true" },
  { field: "a.b", config: { a: { b: { c: 1 } } }, value: undefined },
  { field: "a.b.c", config: { a: 1 }, value: undefined },
  { field: "a.constructor", config: { a: {} }, value: undefined },
  {
    field: "tracing.lightstep.accessToken",
    config: { tracing: { lightstep: { accessToken: "s" } } },
    value: undefined,
  },
])("the value at $field is shown as $value", ({ field, config, value }) => {
  expect(explain(field, config)?.value).toBe(value);
});

test("what is allowed comes from the rule, else from the field's name, else is left out", () => {
  const own = [{ field: "statusPort", message: "wrong", allowed: "80" }];
  expect(explainProblems(own, {}, () => "x")[0]?.allowed).toBe("80");
  expect(explain("defaultConfig.statusPort", {})?.allowed).toBe("1 to 65535");
  expect(explain("tracing.tlsSettings", {})).toEqual({
    source: "source of tracing.tlsSettings",
    field: "tracing.tlsSettings",
    message: "wrong",
  });
});

test("a layer has set what differs, what is new and what is gone", () => {
  const before = { same: { a: 1 }, other: 1, gone: 1 };
  expect(changedFields(before, { same: { a: 1 }, other: 2, fresh: 1 })).toEqual(["other", "gone", "fresh"]);
});
