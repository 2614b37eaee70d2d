import fc from "fast-check";
import { expect, test } from "vitest";
import { type HealthEvent, INITIAL_HEALTH, nextHealth, type ProbeResult } from "./health-state.ts";

const OK: ProbeResult = { healthy: true };
const BAD: ProbeResult = { healthy: false, message: "refused" };
const BOOT: ProbeResult = { healthy: false, message: "admin refused", isStarting: true };

function events(results: readonly ProbeResult[], success = 1, failure = 1): (HealthEvent | undefined)[] {
  let state = INITIAL_HEALTH;
  return results.map((result) => {
    const next = nextHealth(state, result, { success, failure });
    state = next.state;
    return next.event;
  });
}
const marks = (found: readonly (HealthEvent | undefined)[]) =>
  found.map((event) => (event === undefined ? "." : event.healthy ? "H" : "U")).join("");

test.each([
  { results: [BAD, OK, BAD], want: "UHU" },
  { results: [OK, BAD, BAD, OK, BAD], want: "HU.HU" },
  { results: [OK, OK, OK], want: "H.." },
  { results: [BOOT, BOOT, OK], want: "..H" },
  { results: [OK, BOOT], want: "HU" },
  { results: [OK, OK, BAD, OK, OK], want: ".H...", success: 2, failure: 2 },
  { results: [BAD, BAD, BAD, OK, BAD, OK, OK], want: "..U...H", success: 2, failure: 3 },
])("$want", ({ results, want, success, failure }) => {
  expect(marks(events(results, success, failure))).toBe(want);
});

test("the message is that of the look that tipped it", () => {
  expect(events([BAD])[0]).toEqual({ healthy: false, message: "refused" });
});

test("two events in a row never say the same, in any case", () => {
  const result = fc.constantFrom(OK, BAD, BOOT);
  fc.assert(
    fc.property(
      fc.array(result),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      (results, success, failure) => {
        const reported = events(results, success, failure).filter((event) => event !== undefined);
        for (let index = 1; index < reported.length; index++)
          expect(reported[index]?.healthy).not.toBe(reported[index - 1]?.healthy);
      },
    ),
  );
});
