import { expect, test } from "vitest";
import { parseNumber } from "./pipeline-parser.ts";

test.each([
  ["0", 0],
  ["-17", -17],
  ["+3", 3],
  ["0x1F", 31],
  ["0o17", 15],
  ["017", 15],
  ["0b101", 5],
  ["1_000", 1000],
  ["2.5", 2.5],
  [".5", 0.5],
  ["1e3", 1000],
  ["0x1p4", 16],
  ["0x1.8p1", 3],
  ["'a'", 97],
  ["'\\n'", 10],
  ["'é'", 233],
  ["9007199254740993", 9007199254740993n],
])("%s is %s", (text, value) => {
  expect(parseNumber(text)).toBe(value);
});

test.each(["08", "1__0", "1_", "0x", "1e", "'ab'", "18446744073709551616", "2i"])(
  "%s is refused with a reason",
  (text) => {
    expect(parseNumber(text)).toEqual(expect.any(String));
  },
);
