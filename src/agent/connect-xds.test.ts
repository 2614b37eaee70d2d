import { getPackedSettings } from "node:http2";
import { expect, test } from "vitest";
import { downstreamKeepalive, streamLimit, upstreamKeepalive } from "./connect-xds.ts";

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
  { what: "nothing", asked: [0, 0], used: [7_200_000, 20_000] },
])("pings to clients with $what asked for", ({ asked, used }) => {
  const [keepaliveIntervalMs = 0, keepaliveTimeoutMs = 0] = asked;
  const { intervalMs, timeoutMs } = downstreamKeepalive({ keepaliveIntervalMs, keepaliveTimeoutMs });
  expect([intervalMs, timeoutMs]).toEqual(used);
});

test.each([
  [100_000, 100_000],
  [1, 1],
  [0, 4_294_967_295],
  [-1, 4_294_967_295],
  [2 ** 40, 4_294_967_295],
])("with %i streams asked for a connection may have %i", async (asked, used) => {
  const maxConcurrentStreams = streamLimit(asked);
  expect(maxConcurrentStreams).toBe(used);
  // What HTTP/2 cannot say would end the process with the first connection.
  expect(() => getPackedSettings({ maxConcurrentStreams })).not.toThrow();
});
