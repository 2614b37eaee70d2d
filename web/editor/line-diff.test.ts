import { expect, test } from "vitest";
import { hunks, lineDiff } from "./line-diff.ts";

const show = (before: string, after: string) =>
  lineDiff(before, after).map(
    (line) => `${line.kind === "same" ? " " : line.kind === "added" ? "+" : "-"}${line.text}`,
  );

test.each([
  { name: "a changed line", before: "a\nb\nc\n", after: "a\nx\nc\n", lines: [" a", "-b", "+x", " c"] },
  { name: "a new object", before: "", after: "a\nb\n", lines: ["+a", "+b"] },
  { name: "an object taken away", before: "a\n", after: "", lines: ["-a"] },
  { name: "a line in between", before: "a\nc\n", after: "a\nb\nc\n", lines: [" a", "+b", " c"] },
  { name: "no difference", before: "a\n", after: "a\n", lines: [" a"] },
])("$name", ({ before, after, lines }) => {
  expect(show(before, after)).toEqual(lines);
});

test("lines far from a change are one gap", () => {
  const before = "1\n2\n3\n4\n5\n6\n7\n8\n";
  const lines = hunks(lineDiff(before, before.replace("8", "x")), 1);
  expect(lines).toEqual([
    { gap: 6 },
    { kind: "same", text: "7", before: 7, after: 7 },
    { kind: "removed", text: "8", before: 8 },
    { kind: "added", text: "x", after: 8 },
  ]);
});
