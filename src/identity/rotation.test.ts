import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silentLogger } from "../base/logger.ts";
import { Secret } from "../base/secret.ts";
import { createRotation, type Rotation, type RotationOptions } from "./rotation.ts";
import type { WorkloadCertificate } from "./workload-issuer.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Two clocks on vitest's timers: `skewMs` sets the wall clock without moving time. */
const time = { skewMs: 0 };
const clock = { now: () => ({ wallMs: Date.now() + time.skewMs, monotonicMs: Date.now() }) };
let issued: WorkloadCertificate[] = [];
let attempts = 0;
let failure: Error | undefined;
let rotation: Rotation;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  Object.assign(time, { skewMs: 0 });
  [issued, attempts, failure] = [[], 0, undefined];
});
afterEach(async () => {
  await rotation.stop();
  vi.useRealTimers();
});

function certificate(lifetimeMs: number): WorkloadCertificate {
  const { wallMs } = clock.now();
  return {
    chainPem: `chain ${attempts}`,
    keyPem: new Secret("key"),
    rootsPem: "root",
    createdMs: wallMs,
    expiresMs: wallMs + lifetimeMs,
    source: "ca",
  };
}

function start(given: Partial<RotationOptions> = {}, lifetimeMs = DAY): Rotation {
  rotation = createRotation({
    issue: async () => {
      attempts += 1;
      if (failure !== undefined) throw failure;
      return certificate(lifetimeMs);
    },
    renewal: { ratio: 0.5, jitter: 0 },
    backoff: { initialMs: 500, maxMs: MINUTE, factor: 1.5, jitter: 0 },
    recheckMs: 30_000,
    minGapMs: 500,
    saved: undefined,
    clock,
    random: () => 0.5,
    log: silentLogger,
    onIssued: (next) => issued.push(next),
    ...given,
  });
  rotation.begin();
  return rotation;
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test("a day's certificate is renewed every twelve hours, though no one asks for it", async () => {
  start();
  await pass(48 * HOUR + MINUTE);
  expect(issued).toHaveLength(5);
});

test("a certificate of a year is renewed at half life: timers longer than Node can wait are split", async () => {
  start({ recheckMs: HOUR }, 365 * DAY);
  await pass(182 * DAY);
  expect(issued).toHaveLength(1);
  await pass(DAY);
  expect(issued).toHaveLength(2);
});

test("with the CA down at half life the certificate stays until it expires, then requests fail with the cause", async () => {
  start();
  await pass(1);
  failure = new Error("CA at ca:15012 is down");
  await pass(23 * HOUR + 59 * MINUTE);
  expect(rotation.current()?.chainPem).toBe("chain 1");
  expect(attempts).toBeGreaterThan(500);
  expect(rotation.lastFailure()?.message).toBe("CA at ca:15012 is down");
  await pass(2 * MINUTE);
  expect(rotation.current()).toBeUndefined();
  const request = expect(rotation.request()).rejects.toThrow("CA at ca:15012 is down");
  await pass(MINUTE);
  await request;
});

test("a CA that comes back is used within the longest backoff", async () => {
  start();
  await pass(1);
  failure = new Error("down");
  await pass(18 * HOUR);
  failure = undefined;
  await pass(MINUTE);
  expect(issued).toHaveLength(2);
  expect(rotation.lastFailure()).toBeUndefined();
});

test("a clock set forwards by a day renews within the recheck interval", async () => {
  start();
  await pass(HOUR);
  time.skewMs = DAY;
  expect(rotation.current()).toBeUndefined();
  await pass(30_001);
  expect(issued).toHaveLength(2);
  expect(rotation.current()).toBeDefined();
});

test("a clock set back by a day does not put off the renewal", async () => {
  start();
  await pass(HOUR);
  time.skewMs = -DAY;
  expect(rotation.current()).toBeDefined();
  await pass(11 * HOUR + MINUTE);
  expect(issued).toHaveLength(2);
});

test("a clock that jumps forwards and back again costs at most two renewals", async () => {
  start();
  await pass(HOUR);
  time.skewMs = DAY;
  await pass(MINUTE);
  time.skewMs = 0;
  await pass(MINUTE);
  expect(issued).toHaveLength(2);
  expect(rotation.current()).toBeDefined();
});

test("ratio 1 renews again and again, with the shortest gap in between", async () => {
  start({ renewal: { ratio: 1, jitter: 0 } });
  await pass(5001);
  expect(issued).toHaveLength(11);
});

test("a hundred requests before the first answer share one issuance", async () => {
  start();
  const requests = Array.from({ length: 100 }, () => rotation.request());
  await pass(1);
  expect(new Set(await Promise.all(requests)).size).toBe(1);
  expect(attempts).toBe(1);
});

test("a request during a long backoff hurries the next attempt", async () => {
  failure = new Error("down");
  start();
  await pass(10 * MINUTE);
  const before = attempts;
  failure = undefined;
  const request = rotation.request();
  await pass(501);
  await expect(request).resolves.toMatchObject({ source: "ca" });
  expect(attempts).toBe(before + 1);
});

test("requests in a row do not hammer a CA that fails", async () => {
  failure = new Error("down");
  start();
  await pass(1);
  for (let second = 0; second < 20; second += 1) {
    const request = expect(rotation.request()).rejects.toThrow("down");
    await pass(500);
    await request;
  }
  expect(attempts).toBeLessThanOrEqual(22);
});

test("a request that is given up leaves the issuance to the others", async () => {
  start();
  const gone = new AbortController();
  const given = rotation.request(gone.signal);
  const kept = rotation.request();
  gone.abort();
  await expect(given).rejects.toMatchObject({ code: "cancelled" });
  await pass(1);
  await expect(kept).resolves.toBeDefined();
});

test("a saved certificate is served at once and replaced by the first answer", async () => {
  const saved = { ...certificate(HOUR), chainPem: "saved", source: "saved" as const };
  start({ saved });
  expect(rotation.current()?.chainPem).toBe("saved");
  await pass(1);
  expect(rotation.current()?.chainPem).toBe("chain 1");
});

test("stopping rejects who waits and leaves no timer", async () => {
  start({
    issue: (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  });
  const request = expect(rotation.request()).rejects.toMatchObject({ code: "cancelled" });
  await rotation.stop();
  await rotation.stop();
  await request;
  expect(vi.getTimerCount()).toBe(0);
});
