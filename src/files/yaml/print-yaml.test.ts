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

/** Each as Go's sigs.k8s.io/yaml prints it. */
test.each([
  { value: { a: [1, { b: [2, [3]], c: [] }], z: {} }, yaml: "a:\n- 1\n- b:\n  - 2\n  - - 3\n  c: []\nz: {}\n" },
  { value: { m: { "line1\nline2": 1 } }, yaml: "m:\n  ? |-\n    line1\n    line2\n  : 1\n" },
  { value: { "a\nb": { c: 1, d: [2] } }, yaml: "? |-\n  a\n  b\n: c: 1\n  d:\n  - 2\n" },
  { value: { ["k".repeat(129)]: 1 }, yaml: `? ${"k".repeat(129)}\n: 1\n` },
  { value: { ["k".repeat(128)]: 1 }, yaml: `${"k".repeat(128)}: 1\n` },
  { value: { "<<": "<<" }, yaml: "<<: <<\n" },
  { value: "\0\u0007\b\t\u001b\u0001", yaml: '"\\0\\a\\b\\t\\e\\x01"\n' },
])("$value prints as $yaml", ({ value, yaml }) => {
  expect(printYaml(value)).toBe(yaml);
});
