import { expect, test } from "vitest";
import { backoffDelayMs } from "./backoff.ts";

const options = { initialMs: 200, maxMs: 5000, factor: 2, jitter: 0 };

test.each([
  { attempt: 1, ms: 200 },
  { attempt: 2, ms: 400 },
  { attempt: 5, ms: 3200 },
  { attempt: 6, ms: 5000 },
  { attempt: 60, ms: 5000 },
])("after failure $attempt the delay is $ms ms", ({ attempt, ms }) => {
  expect(backoffDelayMs(options, attempt)).toBe(ms);
});

test.each([
  { random: 0, ms: 100 },
  { random: 0.5, ms: 200 },
  { random: 1, ms: 300 },
])("jitter of one half with random $random gives $ms ms", ({ random, ms }) => {
  expect(backoffDelayMs({ ...options, jitter: 0.5 }, 1, () => random)).toBe(ms);
});
