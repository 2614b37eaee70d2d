import { expect, test } from "vitest";
import { downstreamKeepalive, upstreamKeepalive } from "./connect-xds.ts";

test.each([
  { what: "the defaults", asked: [30_000, 10_000], used: [15_000, 10_000] },
  { what: "seconds", asked: [1000, 2000], used: [10_000, 2000] },
  { what: "minutes", asked: [300_000, 60_000], used: [15_000, 10_000] },
  { what: "something between", asked: [12_000, 5000], used: [12_000, 5000] },
  { what: "nothing", asked: [0, 0], used: [10_000, 10_000] },
  { what: "less than nothing", asked: [-1, -1], used: [10_000, 10_000] },
])("pings to the control plane with $what asked for", ({ asked, used }) => {
  const [keepaliveIntervalMs = 0, keepaliveTimeoutMs = 0] = asked;
  const { intervalMs, timeoutMs } = upstreamKeepalive({ keepaliveIntervalMs, keepaliveTimeoutMs });
  expect([intervalMs, timeoutMs]).toEqual(used);
  // A look every quarter of the interval, then the wait for the answer.
  expect(intervalMs * 1.25 + timeoutMs).toBeLessThan(30_000);
});

test.each([
  { what: "the defaults", asked: [30_000, 10_000], used: [30_000, 10_000] },
  { what: "less than a second", asked: [20, 30], used: [1000, 30] },
  { what: "nothing", asked: [0, -1], used: [0, 0] },
])("pings to clients with $what asked for", ({ asked, used }) => {
  const [keepaliveIntervalMs = 0, keepaliveTimeoutMs = 0] = asked;
  const { intervalMs, timeoutMs } = downstreamKeepalive({ keepaliveIntervalMs, keepaliveTimeoutMs });
  expect([intervalMs, timeoutMs]).toEqual(used);
});
