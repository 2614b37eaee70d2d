import { expect, test } from "vitest";
import {
  afterFailure,
  afterSuccess,
  type CertificateState,
  initialState,
  type Moment,
  untilHurriedAttempt,
  untilNextAttempt,
  usableCertificate,
} from "./certificate-state.ts";

interface Certificate {
  readonly expiresMs: number;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const backoff = { initialMs: 500, maxMs: 60_000, factor: 2, jitter: 0 };
const at = (ms: number, wallMs = ms): Moment => ({ monotonicMs: ms, wallMs });
const fail = (state: CertificateState<Certificate>, now: Moment) =>
  afterFailure(state, new Error("CA down"), { backoff, now, random: () => 0.5 });
const issued = afterSuccess<Certificate>({ expiresMs: DAY }, 12 * HOUR, at(0));

test("before the first certificate an attempt is due at once and nothing can be served", () => {
  const state = initialState<Certificate>(at(0));
  expect(untilNextAttempt(state, at(0))).toBe(0);
  expect(usableCertificate(state, 0)).toBeUndefined();
});

test("failures in a row double the wait up to the limit", () => {
  let state = initialState<Certificate>(at(0));
  const waits = Array.from({ length: 9 }, () => {
    state = fail(state, at(0));
    return untilNextAttempt(state, at(0));
  });
  expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
});

test("a failed renewal keeps the certificate and its error", () => {
  const state = fail(issued, at(12 * HOUR));
  expect(state).toMatchObject({ phase: "overdue", certificate: { expiresMs: DAY }, failure: { count: 1 } });
  expect(usableCertificate(state, 23 * HOUR)).toEqual({ expiresMs: DAY });
});

test("a certificate is served up to the millisecond of its expiry", () => {
  const state = fail(issued, at(12 * HOUR));
  expect(usableCertificate(state, DAY - 1)).toBeDefined();
  expect(usableCertificate(state, DAY)).toBeUndefined();
});

test("a success after failures resets the count", () => {
  const state = fail(afterSuccess<Certificate>({ expiresMs: DAY }, HOUR, at(0)), at(HOUR));
  expect(state).toMatchObject({ failure: { count: 1 } });
});

test.each([
  { clock: "is right", now: at(HOUR), left: 11 * HOUR },
  { clock: "was set forwards by a day", now: at(HOUR, HOUR + DAY), left: 0 },
  { clock: "was set back by a day", now: at(HOUR, HOUR - DAY), left: 11 * HOUR },
  { clock: "was set back and twelve hours passed", now: at(12 * HOUR, -12 * HOUR), left: 0 },
])("when the wall clock $clock, the renewal is $left ms away", ({ now, left }) => {
  expect(untilNextAttempt(issued, now)).toBe(left);
});

test("a certificate that seems expired is usable again when the clock is set back", () => {
  expect(usableCertificate(issued, 2 * DAY)).toBeUndefined();
  expect(usableCertificate(issued, HOUR)).toBeDefined();
});

test("a waiting subscriber hurries the next attempt, but not closer than the gap to the last failure", () => {
  let state = initialState<Certificate>(at(0));
  for (let count = 0; count < 8; count += 1) state = fail(state, at(0));
  expect(untilNextAttempt(state, at(100))).toBe(59_900);
  expect(untilHurriedAttempt(state, 500, at(100))).toBe(400);
  expect(untilHurriedAttempt(state, 500, at(2000))).toBe(0);
});

test("without a failure a subscriber waits for nothing", () => {
  expect(untilHurriedAttempt(initialState<Certificate>(at(0)), 500, at(0))).toBe(0);
});
