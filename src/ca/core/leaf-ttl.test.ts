import { expect, test } from "vitest";
import type { Certificate } from "../../protocol/x509/certificate.ts";
import { currentLimits, leafTtlMs } from "./leaf-ttl.ts";
import { isRootDue } from "./self-signed.ts";
import type { SigningMaterial } from "./signing-material.ts";

const HOUR = 3_600_000;
const limits = { defaultMs: 24 * HOUR, maxMs: 3 * 24 * HOUR };

test.each([
  { requested: 0n, ttlMs: 24 * HOUR },
  { requested: -5n, ttlMs: 24 * HOUR },
  { requested: 1n, ttlMs: 1000 },
  { requested: 3n * 24n * 3600n, ttlMs: 72 * HOUR },
])("a request for $requested s lives $ttlMs ms", ({ requested, ttlMs }) => {
  expect(leafTtlMs(requested, limits)).toBe(ttlMs);
});

test("the cap holds for the default too", () => {
  expect(leafTtlMs(0n, { defaultMs: 24 * HOUR, maxMs: HOUR })).toBe(HOUR);
});

test.each([
  { requested: 3n * 3600n, text: "requested TTL 3h0m0s is greater than the max allowed TTL 2h0m0s" },
  { requested: 2n ** 62n, text: "requested TTL 2562047h47m16.854775807s is greater than the max allowed TTL 2h0m0s" },
])("a request for $requested s over the cap is refused in Go's words", ({ requested, text }) => {
  expect(() => leafTtlMs(requested, { defaultMs: HOUR, maxMs: 2 * HOUR })).toThrow(
    expect.objectContaining({ code: "TTL_ERROR", message: text }),
  );
});

const NOW = new Date("2026-01-01T00:00:00Z");
const materialEndingIn = (ms: number | undefined) =>
  ({
    chainHead: ms === undefined ? undefined : ({ notAfter: new Date(NOW.getTime() + ms) } as Certificate),
  }) as SigningMaterial;

test.each([
  { leftMs: undefined, defaultMs: 24 * HOUR },
  { leftMs: 100 * HOUR, defaultMs: 24 * HOUR },
  { leftMs: 5 * HOUR, defaultMs: 5 * HOUR },
])("with $leftMs ms left of the chain the default is $defaultMs ms", ({ leftMs, defaultMs }) => {
  expect(currentLimits(limits, materialEndingIn(leftMs), NOW)).toEqual({ ...limits, defaultMs });
});

test("an expired chain gives no default", () => {
  expect(() => currentLimits(limits, materialEndingIn(0), NOW)).toThrow(
    "failed to get default cert TTL cert chain has expired",
  );
});

test.each([
  { leftPercent: 21, due: false },
  { leftPercent: 20, due: true },
  { leftPercent: 1, due: true },
  { leftPercent: -5, due: true },
])("a root with $leftPercent % of its life left is due: $due", ({ leftPercent, due }) => {
  const notBefore = new Date(NOW.getTime() - (100 - leftPercent) * HOUR);
  const root = { notBefore, notAfter: new Date(notBefore.getTime() + 100 * HOUR) };
  expect(isRootDue(root, 20, NOW)).toBe(due);
});
