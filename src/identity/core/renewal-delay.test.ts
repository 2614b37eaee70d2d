import fc from "fast-check";
import { expect, test } from "vitest";
import { renewalDelay } from "./renewal-delay.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const exact = () => 0;

test.each([
  { ratio: 0.5, waits: 30 * MINUTE },
  { ratio: 0.25, waits: 45 * MINUTE },
  { ratio: 0.75, waits: 15 * MINUTE },
  { ratio: 1, waits: 0 },
  { ratio: 0, waits: 60 * MINUTE },
])("a one-hour certificate with renewal ratio $ratio waits $waits ms", ({ ratio, waits }) => {
  expect(renewalDelay({ createdMs: 0, expiresMs: HOUR }, { ratio, jitter: 0 }, 0, exact)).toBe(waits);
});

test("an expired certificate is renewed at once", () => {
  expect(renewalDelay({ createdMs: 0, expiresMs: HOUR }, { ratio: 0.5, jitter: 0 }, 2 * HOUR, exact)).toBe(0);
});

test("a certificate created half an hour in the future with ratio 0.25 waits 75 minutes", () => {
  const lifetime = { createdMs: 30 * MINUTE, expiresMs: 90 * MINUTE };
  expect(renewalDelay(lifetime, { ratio: 0.25, jitter: 0 }, 0, exact)).toBe(75 * MINUTE);
});

test.each([
  { ratio: 1, low: 0, high: 30 * MINUTE },
  { ratio: 0, low: 30 * MINUTE, high: HOUR },
])("jitter 0.5 around ratio $ratio stays between $low and $high ms", ({ ratio, low, high }) => {
  fc.assert(
    fc.property(fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })), (stream) => {
      const random = () => Number(stream.next().value);
      const delay = renewalDelay({ createdMs: 0, expiresMs: HOUR }, { ratio, jitter: 0.5 }, 0, random);
      expect(delay).toBeGreaterThanOrEqual(low);
      expect(delay).toBeLessThanOrEqual(high);
    }),
  );
});

test("the default policy renews a day's certificate at twelve hours, give or take a quarter of an hour", () => {
  const day = { createdMs: 0, expiresMs: 24 * HOUR };
  for (let run = 0; run < 1000; run += 1) {
    const delay = renewalDelay(day, { ratio: 0.5, jitter: 0.01 }, 0, Math.random);
    expect(Math.abs(delay - 12 * HOUR)).toBeLessThanOrEqual(14.4 * MINUTE);
  }
});

test.each([
  { ratio: Number.NaN, jitter: 0 },
  { ratio: 0.5, jitter: Number.NaN },
  { ratio: Number.POSITIVE_INFINITY, jitter: Number.POSITIVE_INFINITY },
])("ratio $ratio with jitter $jitter is not a number: renewed at half life", (policy) => {
  expect(renewalDelay({ createdMs: 0, expiresMs: HOUR }, policy, 0, () => 0.25)).toBe(HOUR / 2);
});
