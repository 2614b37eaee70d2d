import fc from "fast-check";
import { expect, test } from "vitest";
import { formatTimeout, parseTimeout } from "./timeout-header.ts";

test.each([
  { header: "1H", milliseconds: 3_600_000 },
  { header: "2M", milliseconds: 120_000 },
  { header: "30S", milliseconds: 30_000 },
  { header: "250m", milliseconds: 250 },
  { header: "1500u", milliseconds: 1.5 },
  { header: "500000n", milliseconds: 0.5 },
  { header: "00000000S", milliseconds: 0 },
  { header: "99999999H", milliseconds: 99_999_999 * 3_600_000 },
])("$header is $milliseconds ms", ({ header, milliseconds }) => {
  expect(parseTimeout(header)).toBeCloseTo(milliseconds, 9);
});

test.each(["", "1", "S", "1s", "1.5S", "-1S", "123456789S", " 1S", "1S "])("%j is malformed", (header) => {
  expect(parseTimeout(header)).toBeUndefined();
});

test.each([
  { milliseconds: 0, header: "0m" },
  { milliseconds: -5, header: "0m" },
  { milliseconds: 0.1, header: "1m" },
  { milliseconds: 1500, header: "1500m" },
  { milliseconds: 99_999_999, header: "99999999m" },
  { milliseconds: 100_000_000, header: "100000S" },
  { milliseconds: 1e15, header: "99999999H" },
])("$milliseconds ms is sent as $header", ({ milliseconds, header }) => {
  expect(formatTimeout(milliseconds)).toBe(header);
});

test("what is sent is never shorter than what was meant, up to the largest number", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e14, noNaN: true }), (milliseconds) => {
      expect(parseTimeout(formatTimeout(milliseconds))).toBeGreaterThanOrEqual(milliseconds);
    }),
  );
});
