import { expect, test } from "vitest";
import { bytes, duration, milliseconds, percent, rate } from "./format.ts";

test.each([
  [rate(0), "0"],
  [rate(0.04), "<0.1"],
  [rate(9.96), "10.0"],
  [rate(123.4), "123"],
  [rate(25_000), "25k"],
  [percent(0), "0%"],
  [percent(0.0004), "<0.1%"],
  [percent(0.025), "2.5%"],
  [percent(0.5), "50%"],
  [milliseconds(0.4), "<1 ms"],
  [milliseconds(12.4), "12 ms"],
  [milliseconds(2500), "2.5 s"],
  [bytes(999), "999 B"],
  [bytes(1500), "1.5 KB"],
  [duration(42_000), "42 s"],
  [duration(90 * 60_000), "90 min"],
  [duration(125 * 60_000), "2 h 5 min"],
  [duration(12 * 86_400_000), "12 days"],
])("%s is written %s", (text, expected) => {
  expect(text).toBe(expected);
});
