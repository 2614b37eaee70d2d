import { describe, expect, test } from "vitest";
import { parseDocument } from "yaml";
import { BELOW_SQUARE, growthFactor } from "../../../test/support/growth-factor.ts";
import { nestsTooDeeply } from "./yaml-depth.ts";

const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);
const indented = (depth: number) => Array.from({ length: depth }, (_, level) => `${" ".repeat(level)}a:`).join("\n");

describe.each<{ name: string; text: (depth: number) => string }>([
  { name: "lists in brackets", text: (depth) => nested(depth, "[", "]") },
  { name: "brackets that are never closed", text: (depth) => "[".repeat(depth) },
  { name: "maps in braces", text: (depth) => `a: ${nested(depth, "{a: ", "}")}` },
  { name: "brackets over many lines", text: (depth) => nested(depth, "[\n", "]\n") },
  { name: "maps by indentation", text: indented },
  { name: "lists on one line", text: (depth) => `${"- ".repeat(depth / 2)}a` },
  { name: "keys that are maps", text: (depth) => `${"? ".repeat(depth / 2)}a` },
])("$name", ({ text }) => {
  test("are fine as deep as anybody means, for the library too", () => {
    expect(nestsTooDeeply(text(400))).toBe(false);
    expect(() => parseDocument(text(400), { logLevel: "silent" })).not.toThrow();
    expect(parseDocument(text(400), { logLevel: "silent" }).errors.join()).not.toContain("call stack");
  });

  test.each([600, 5000, 50_000])("of %i levels are too deep", (depth) => {
    // Indentation grows with the square of the depth.
    expect(nestsTooDeeply(text(text === indented ? Math.min(depth, 2000) : depth))).toBe(true);
  });
});

test.each([
  { name: "many lists beside each other", text: "- [a, {b: c}]\n".repeat(5000) },
  { name: "many documents", text: "---\na: [1]\n".repeat(5000) },
  { name: "brackets in quotes", text: `a: "${"[".repeat(5000)}"\nb: '${"{".repeat(5000)}'\n` },
  { name: "quotes in quotes", text: `a: "\\"${"[".repeat(5000)}\\""\n` },
  { name: "many quoted expressions", text: 'regex: "[^[]"\n'.repeat(5000) },
  { name: "more closing than opening", text: `${"]".repeat(5000)}${"[".repeat(400)}` },
  { name: "a line of hyphens", text: `${"-".repeat(5000)}\n` },
  { name: "a long line of text", text: `a: ${"words and ".repeat(5000)}` },
  { name: "a quote that goes on over lines", text: 'a: "first\n  [second\n  third"\n'.repeat(100) },
  { name: "nothing", text: "" },
])("$name: no depth at all", ({ text }) => {
  expect(nestsTooDeeply(text)).toBe(false);
});

test.each([
  { name: "quotes", piece: '"' },
  { name: "quotes that escape", piece: '"\\' },
  { name: "apostrophes", piece: "'['" },
  { name: "hyphens", piece: "- -" },
])("a hostile line of $name takes no longer than its length", ({ piece }) => {
  expect(growthFactor((length) => nestsTooDeeply(piece.repeat(length)), 60_000)).toBeLessThan(BELOW_SQUARE);
});
