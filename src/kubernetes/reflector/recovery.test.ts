import { expect, test } from "vitest";
import { FailureDelay, isOlderVersion, type Recovery, recoveryOf } from "./recovery.ts";

type Row = [Parameters<typeof recoveryOf>[0]["code"], number, Parameters<typeof recoveryOf>[1], Recovery];

test.each<Row>([
  ["gone", 410, "open", { next: "list-latest" }],
  ["gone", 410, "events", { next: "list-latest" }],
  ["gone", 410, "list", { next: "list-latest" }],
  ["resource-version-too-large", 504, "stream", { next: "list-latest" }],
  ["resource-version-too-large", 504, "list", { next: "list-latest" }],
  ["too-many-requests", 429, "open", { next: "watch", waitMs: 3000 }],
  ["too-many-requests", 429, "events", { next: "watch", waitMs: 3000 }],
  ["too-many-requests", 429, "list", { next: "list", waitMs: 3000 }],
  ["unreachable", 0, "open", { next: "watch" }],
  ["unreachable", 0, "events", { next: "watch" }],
  ["unreachable", 0, "stream", { next: "list" }],
  ["timeout", 0, "list", { next: "list" }],
  ["bad-answer", 200, "events", { next: "list" }],
  ["forbidden", 403, "open", { next: "list" }],
  ["unauthorized", 401, "list", { next: "list" }],
  ["not-found", 404, "stream", { next: "list" }],
  ["invalid", 422, "stream", { next: "list", waitMs: 0, pages: "always" }],
  ["invalid", 400, "list", { next: "list" }],
  ["server-error", 500, "stream", { next: "list", waitMs: 0, pages: "once" }],
  ["server-error", 503, "stream", { next: "list", waitMs: 3000 }],
  ["server-error", 503, "open", { next: "watch", waitMs: 3000 }],
  ["server-error", 500, "events", { next: "list", waitMs: 3000 }],
])("after %s (%d) in phase %s comes %j", (code, status, phase, recovery) => {
  expect(recoveryOf({ code, status, retryAfterMs: status >= 400 ? 3000 : undefined }, phase)).toEqual(recovery);
});

test("delays are between 0.8 and 30 seconds and begin again after two minutes of health", () => {
  for (const random of [0, 0.5, 0.999]) {
    const delay = new FailureDelay();
    const delays = Array.from({ length: 10 }, (_, index) => delay.next(index * 30_000, () => random));
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(800);
    expect(Math.max(...delays)).toBeLessThanOrEqual(30_000);
    expect(delays).toEqual(delays.toSorted((a, b) => a - b));
    expect(delay.next(9 * 30_000 + 120_001, () => random)).toBe(delays[0]);
  }
});

test.each([
  ["9", "10", true],
  ["10", "9", false],
  ["10", "10", false],
  ["12345678901234567890", "12345678901234567891", true],
  ["", "1", false],
  ["abc", "abd", false],
])("version %j is older than %j: %s", (version, than, isOlder) => {
  expect(isOlderVersion(version, than)).toBe(isOlder);
});
