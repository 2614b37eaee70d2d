import { expect, test } from "vitest";
import { isTooManyPings, nextPingState, noPings, type PingPolicy } from "./ping-policy.ts";

const POLICY: PingPolicy = { minIntervalMs: 15_000, withoutCalls: false };

function judge(policy: PingPolicy, times: readonly number[], openCalls: number): boolean {
  return isTooManyPings(
    times.reduce((state, now) => nextPingState(policy, state, { now, openCalls, hasSent: false }), noPings),
  );
}

test.each([
  { name: "pings at the allowed pace", times: [0, 15_000, 30_000, 45_000, 60_000], calls: 1, tooMany: false },
  { name: "two pings too early", times: [0, 1_000, 2_000], calls: 1, tooMany: false },
  { name: "three pings too early", times: [0, 1_000, 2_000, 3_000], calls: 1, tooMany: true },
  { name: "pings at the allowed pace without a call", times: [0, 15_000, 30_000, 45_000], calls: 0, tooMany: true },
  { name: "a ping in two hours without a call", times: [0, 7.2e6, 14.4e6, 21.6e6], calls: 0, tooMany: false },
])("$name: too many is $tooMany", ({ times, calls, tooMany }) => {
  expect(judge(POLICY, times, calls)).toBe(tooMany);
});

test("without a call the usual pace is fine when the policy permits it", () => {
  expect(judge({ ...POLICY, withoutCalls: true }, [0, 15_000, 30_000, 45_000], 0)).toBe(false);
});

test("sending something forgives the pings before it", () => {
  const struck = { lastAt: 0, strikes: 2 };
  expect(nextPingState(POLICY, struck, { now: 1, openCalls: 1, hasSent: true })).toEqual({ lastAt: 1, strikes: 0 });
});
