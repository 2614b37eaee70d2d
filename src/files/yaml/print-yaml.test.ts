import { expect, test } from "vitest";
import { parseGoYaml } from "./parse-go-yaml.ts";
import { printYaml } from "./print-yaml.ts";

test("keys sort with numbers by their value and letters last", () => {
  const printed = printYaml({ a10: 1, a9: 1, "a-b": 1, ab: 1, a_b: 1, aB: 1, a: 1 });
  expect(printed.split("\n").map((line) => line.split(":")[0])).toEqual([
    "a",
    "a-b",
    "a_b",
    "a9",
    "a10",
    "aB",
    "ab",
    "",
  ]);
});

test.each([
  ["plain", `${"word ".repeat(40)}end`],
  ["single quotes", `'${"word ".repeat(40)}'end`],
  ["double quotes", `"tab\t${"word ".repeat(40)}end"`],
])("long text in the %s style folds after 80 columns and reads back the same", (_style, text) => {
  const printed = printYaml({ key: text });
  expect(printed.split("\n").length).toBeGreaterThan(3);
  expect(parseGoYaml(printed)).toEqual({ key: text });
});
