import fc from "fast-check";
import { expect, test } from "vitest";
import { finiteEnd, integerEnd, numberEnd } from "./number-text.ts";

const endOf = (text: string, read = numberEnd) => read(Buffer.from(`${text}\n`, "latin1"), 0);

test.each([
  "0",
  "-1",
  "+1.5",
  ".5",
  "5.",
  "1e9",
  "1E-9",
  "1e308",
  "1e-400",
  "00012",
  "NaN",
  "nan",
  "+Inf",
  "-infinity",
  "INF",
])("%s is a number", (text) => {
  expect(endOf(text)).toBe(text.length);
});

test.each([
  "",
  "-",
  ".",
  "e5",
  "1e",
  "1e+",
  "--1",
  "infinit",
  "infinityy",
  "nanx",
  "x",
  "1e309",
  "-1e999",
  "9".repeat(310),
])("%j is none", (text) => {
  expect(endOf(text)).toBe(-1);
});

test("what follows is not looked at", () => {
  expect(endOf('0.5"')).toBe(3);
  expect(endOf("1 2")).toBe(1);
  expect(endOf("inf1")).toBe(3);
});

test("a finite number is neither infinite nor no number, and nothing is where there is no digit", () => {
  for (const text of ["inf", "+Inf", "NaN", "", "x"]) expect(endOf(text, finiteEnd)).toBe(0);
  expect(endOf("-1.5", finiteEnd)).toBe(4);
  expect(endOf("1e400", finiteEnd)).toBe(-1);
});

test("whole numbers have 64 bits", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (value) => {
      const text = String(value);
      expect(endOf(text, integerEnd)).toBe(BigInt.asIntN(64, value) === value ? text.length : -1);
    }),
  );
  expect(endOf("", integerEnd)).toBe(-1);
  expect(endOf("-", integerEnd)).toBe(-1);
});

test("every double is read to its end, wherever it stands in the bytes", () => {
  fc.assert(
    fc.property(fc.double({ noDefaultInfinity: true, noNaN: true }), fc.nat({ max: 9 }), (value, offset) => {
      const text = `${"#".repeat(offset)}${value}\n`;
      const bytes = Buffer.from(`xx${text}`).subarray(2);
      expect(numberEnd(bytes, offset)).toBe(text.length - 1);
    }),
  );
});
