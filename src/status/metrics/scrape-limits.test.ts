import { expect, test } from "vitest";
import { scrapeLimits } from "./scrape-limits.ts";

test.each([
  { header: "10", totalMs: 9000, graceMs: 3000, stallMs: 3000, isWarned: false },
  { header: "0.5", totalMs: 450, graceMs: 225, stallMs: 150, isWarned: false },
  { header: "1e3", totalMs: 900_000, graceMs: 3000, stallMs: 10_000, isWarned: false },
  { header: undefined, totalMs: 60_000, graceMs: 3000, stallMs: 10_000, isWarned: false },
  { header: "abc", totalMs: 60_000, graceMs: 3000, stallMs: 10_000, isWarned: true },
  { header: "-1", totalMs: 60_000, graceMs: 3000, stallMs: 10_000, isWarned: true },
  { header: "0x10", totalMs: 60_000, graceMs: 3000, stallMs: 10_000, isWarned: true },
])("$header", ({ header, isWarned, ...want }) => {
  const { warning, ...limits } = scrapeLimits(header);
  expect(limits).toMatchObject(want);
  expect(warning !== undefined).toBe(isWarned);
});
