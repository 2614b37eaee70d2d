import fc from "fast-check";
import { expect, test } from "vitest";
import { formatDuration, parseDuration, parseDurationMs } from "./duration.ts";

test.each([
  { text: "0", nanoseconds: 0n },
  { text: "300ms", nanoseconds: 300_000_000n },
  { text: "-1.5h", nanoseconds: -5_400_000_000_000n },
  { text: "2h45m", nanoseconds: 9_900_000_000_000n },
  { text: "+5s", nanoseconds: 5_000_000_000n },
  { text: ".5s", nanoseconds: 500_000_000n },
  { text: "1.s", nanoseconds: 1_000_000_000n },
  { text: "10us", nanoseconds: 10_000n },
  { text: "10µs", nanoseconds: 10_000n },
  { text: "1h1m1s1ms1us1ns", nanoseconds: 3_661_001_001_001n },
])("$text is $nanoseconds ns", ({ text, nanoseconds }) => {
  expect(parseDuration(text)).toBe(nanoseconds);
});

test.each([
  { text: "", message: 'time: invalid duration ""' },
  { text: "x", message: 'time: invalid duration "x"' },
  { text: "30", message: 'time: missing unit in duration "30"' },
  { text: "0__proto__", message: 'time: unknown unit "__proto__" in duration "0__proto__"' },
  { text: "1constructor", message: 'time: unknown unit "constructor" in duration "1constructor"' },
  { text: "3x", message: 'time: unknown unit "x" in duration "3x"' },
  { text: ".s", message: 'time: invalid duration ".s"' },
  { text: "-", message: 'time: invalid duration "-"' },
  { text: " 1s", message: 'time: invalid duration " 1s"' },
  { text: "9999999999h", message: 'time: invalid duration "9999999999h"' },
])("$text is refused with Go's text", ({ text, message }) => {
  expect(() => parseDuration(text)).toThrow(message);
});

test.each([
  { nanoseconds: 0n, text: "0s" },
  { nanoseconds: 1n, text: "1ns" },
  { nanoseconds: 1_500n, text: "1.5µs" },
  { nanoseconds: 101_000_000n, text: "101ms" },
  { nanoseconds: 1_500_000_000n, text: "1.5s" },
  { nanoseconds: 60_000_000_000n, text: "1m0s" },
  { nanoseconds: 86_400_000_000_000n, text: "24h0m0s" },
  { nanoseconds: -90_000_000_000n, text: "-1m30s" },
])("$nanoseconds ns prints as $text", ({ nanoseconds, text }) => {
  expect(formatDuration(nanoseconds)).toBe(text);
});

test("milliseconds keep fractions", () => {
  expect(parseDurationMs("1500us")).toBe(1.5);
});

test("parsing inverts printing, for every duration Go can hold", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }), (nanoseconds) => {
      expect(parseDuration(formatDuration(nanoseconds))).toBe(nanoseconds);
    }),
  );
});

test("any text gives a duration or a coded error, never another throw", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        expect(typeof parseDuration(text)).toBe("bigint");
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid-duration" });
      }
    }),
  );
});
