import { expect, test } from "vitest";
import { freshHealth, type HealthRecord, nextHealth, untilNextCheck } from "./health-state.ts";

const CHECK = { retries: 3, startPeriodMs: 1000 };

/** After these answers, 100 ms apart; an empty text is a success. */
function after(...answers: readonly string[]): HealthRecord {
  return answers.reduce(
    (record, failure, index) => nextHealth(record, failure || undefined, CHECK, 5000 + index * 100),
    freshHealth(7, 5000),
  );
}

test.each<{ answers: string[]; state: string }>([
  { answers: [], state: "starting" },
  { answers: [""], state: "healthy" },
  { answers: ["x", "x", "x", "x", ""], state: "healthy" },
  { answers: ["", "x", "x"], state: "healthy" },
  { answers: ["", "x", "x", "x"], state: "unhealthy" },
  { answers: ["", "x", "x", "", "x", "x"], state: "healthy" },
  { answers: ["", "x", "x", "x", ""], state: "healthy" },
])("after $answers it is $state", ({ answers, state }) => {
  expect(after(...answers).health.state).toBe(state);
});

test("failures count from the end of the start period on, and the reason is the last one", () => {
  const early = Array.from({ length: 10 }, () => "early");
  expect(after(...early).health).toEqual({ state: "starting", reason: "health check: early" });
  expect(after(...early, "late", "late").health).toEqual({ state: "starting", reason: "health check: late" });
  expect(after(...early, "a", "b", "c").health).toEqual({
    state: "unhealthy",
    reason: "unhealthy: c (3 times in a row)",
  });
});

test("until the first success it is asked more often", () => {
  expect(untilNextCheck(after("x"), 5000)).toBe(500);
  expect(untilNextCheck(after("x"), 200)).toBe(200);
  expect(untilNextCheck(after(""), 5000)).toBe(5000);
});
