import fc from "fast-check";
import { expect, test } from "vitest";
import { BELOW_SQUARE, growthFactor } from "../../../test/support/growth-factor.ts";
import { tidyLine } from "./tidy-line.ts";

const tidy = (line: string) => tidyLine(Buffer.from(`${line}\n`), 0, Buffer.byteLength(line))?.toString();

test.each([
  { line: " a 1", want: "a 1\n" },
  { line: "a 1\t ", want: "a 1\n" },
  { line: "a 1\r", want: "a 1\n" },
  { line: "a 1 \r", want: "a 1\n" },
  { line: 'a {x="1"} 1', want: 'a{x="1"} 1\n' },
  { line: ' a \t{x="a {"} 1 ', want: 'a{x="a {"} 1\n' },
  { line: "   ", want: "\n" },
  { line: "  # TYPE a gauge", want: "# TYPE a gauge\n" },
])("$line becomes $want", ({ line, want }) => {
  expect(tidy(line)).toBe(want);
});

test.each(["a 1", 'a{x="b {"} 1', 'a{x=" "} 1', "", "#", '"a" {'])("%j is tidy", (line) => {
  expect(tidy(line)).toBeUndefined();
});

test("what was tidied is tidy, and only blanks and carriage returns went", () => {
  const line = fc.string({ unit: fc.constantFrom(" ", "\t", "\r", "a", "{", '"', "}", "1"), maxLength: 30 });
  const ink = (text: string) => text.replace(/\s/g, "");
  fc.assert(
    fc.property(line, (text) => {
      const once = tidy(text);
      if (once === undefined) return;
      expect(ink(once)).toBe(ink(text));
      expect(tidy(once.slice(0, -1))).toBeUndefined();
    }),
  );
});

test("a long row of blanks costs no more than its length", () => {
  expect(growthFactor((length) => tidy(`a${" ".repeat(length)}x`), 100_000)).toBeLessThan(BELOW_SQUARE);
});
