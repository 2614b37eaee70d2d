import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { msToNextTick, startAlignedInterval } from "./aligned-interval.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

test.each([
  { now: 0, ms: 1000 },
  { now: 400.2, ms: 600 },
  { now: 600, ms: 1400 },
  { now: 999.9, ms: 1001 },
  { now: 1000.4, ms: 1000 },
])("at $now the next tick of a second is $ms ms away", ({ now, ms }) => {
  expect(msToNextTick(1000, now)).toBe(ms);
});

test("intervals that begin at different times fire together, the longer ones with every second or fifth of the shorter", () => {
  const fired: { readonly period: number; readonly at: number }[] = [];
  const start = (period: number) => startAlignedInterval(() => fired.push({ period, at: performance.now() }), period);
  const intervals = [1000, 2000, 1000, 5000].map((period) => {
    vi.advanceTimersByTime(137);
    return start(period);
  });
  vi.advanceTimersByTime(20_000);
  const moments = (period?: number) =>
    new Set(fired.filter((each) => (period ?? each.period) === each.period).map(({ at }) => at));
  expect(moments()).toEqual(moments(1000));
  expect([moments(1000).size, moments(2000).size, moments(5000).size]).toEqual([20, 10, 4]);
  for (const interval of intervals) interval.stop();
  expect(vi.getTimerCount()).toBe(0);
});

test("one that is stopped by its own work does not fire again", () => {
  let count = 0;
  const interval = startAlignedInterval(() => {
    count += 1;
    interval.stop();
  }, 10);
  vi.advanceTimersByTime(100);
  expect(count).toBe(1);
});
