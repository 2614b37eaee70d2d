import fc from "fast-check";
import { expect, test } from "vitest";
import { DEFAULT_RESTART_BUDGET as BUDGET, type FailureRow, NO_FAILURES, nextFailure } from "./restart-budget.ts";

/** Envoy lives `lifeMs` each time; returns the pauses until the guard gives up, and when that is, from the first failure. */
function crashLoop(lifeMs: (run: number) => number, random = 0.5, runs = 1000) {
  let row: FailureRow = NO_FAILURES;
  let now = 0;
  const delays: number[] = [];
  for (let run = 0; run < runs; run++) {
    const startedAt = now;
    now += lifeMs(run);
    const decision = nextFailure(row, { startedAt, now, random }, BUDGET);
    row = decision.row;
    if (decision.delayMs === undefined) return { delays, gaveUpAfterMs: now - row.firstAt, failures: row.count };
    delays.push(decision.delayMs);
    now += decision.delayMs;
  }
  return { delays, gaveUpAfterMs: undefined, failures: row.count };
}

test("an Envoy that never starts gets nine more tries, 0.2 s apart and doubling to 5 s", () => {
  const { delays, failures } = crashLoop(() => 0);
  expect(delays).toEqual([200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000]);
  expect(failures).toBe(10);
});

test.each([0, 0.25, 1])("with jitter at %d of its range each delay is within a fifth of its value", (random) => {
  const exact = crashLoop(() => 0).delays;
  const jittered = crashLoop(() => 0, random).delays;
  for (const [index, delay] of jittered.entries()) {
    expect(Math.abs(delay / (exact[index] ?? 0) - 1)).toBeLessThanOrEqual(0.2001);
  }
});

test("a quiet run refills the budget: the next failure waits the shortest time again", () => {
  const { delays, gaveUpAfterMs } = crashLoop((run) => (run === 5 ? BUDGET.quietMs : 0), 0.5, 8);
  expect(delays).toEqual([200, 400, 800, 1600, 3200, 200, 400, 800]);
  expect(gaveUpAfterMs).toBeUndefined();
});

test("an Envoy that always lasts a quiet period is restarted for ever", () => {
  expect(crashLoop(() => BUDGET.quietMs).gaveUpAfterMs).toBeUndefined();
});

test("regardless of the lives and the jitter, giving up comes within 60 s of the first failure and after at most ten", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(25_000), { minLength: 1 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (lives, random) => {
        const result = crashLoop((run) => lives[run % lives.length] ?? 0, random, 200);
        if (result.gaveUpAfterMs === undefined) return;
        expect(result.gaveUpAfterMs).toBeLessThanOrEqual(60_000);
        expect(result.failures).toBeLessThanOrEqual(10);
      },
    ),
  );
});

test("an Envoy that never lasts a quiet period always ends in giving up", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(BUDGET.quietMs - 1), { minLength: 1 }), (lives) => {
      expect(crashLoop((run) => lives[run % lives.length] ?? 0).gaveUpAfterMs).toBeLessThanOrEqual(60_000);
    }),
  );
});
