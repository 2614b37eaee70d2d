import { expect, test } from "vitest";
import { type FloodLimit, isFlood, nextFloodState, noFlood } from "./server-session.ts";

const LIMIT: FloodLimit = { perSecond: 10, burst: 5 };

/** At which frame, counted from 1, a client is cut off. */
function cutAt(times: readonly number[]): number | undefined {
  let state = noFlood(LIMIT, 0);
  const index = times.findIndex((now) => {
    state = nextFloodState(LIMIT, state, now);
    return isFlood(state);
  });
  return index < 0 ? undefined : index + 1;
}

test.each([
  { name: "as many as the burst at once", times: Array<number>(5).fill(0), cut: undefined },
  { name: "one more than the burst at once", times: Array<number>(6).fill(0), cut: 6 },
  { name: "the permitted rate for a minute", times: Array.from({ length: 600 }, (_, at) => at * 100), cut: undefined },
  { name: "twice the permitted rate", times: Array.from({ length: 600 }, (_, at) => at * 50), cut: 10 },
  { name: "a burst again after a pause", times: [0, 0, 0, 0, 0, 500, 500, 500, 500, 500], cut: undefined },
  { name: "more than a burst after a long pause", times: Array<number>(6).fill(3_600_000), cut: 6 },
])("$name: cut off at frame $cut", ({ times, cut }) => {
  expect(cutAt(times)).toBe(cut);
});
