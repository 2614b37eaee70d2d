import { expect, test } from "vitest";
import { exitText, FRESH, isCrashLoop, nextRestart } from "./restart-policy.ts";

test("quick ends double the pause up to ten seconds; the fourth makes it a loop", () => {
  let state = FRESH;
  const seen = Array.from({ length: 9 }, () => {
    const decision = nextRestart(state, 50);
    state = decision.state;
    return [decision.delayMs, isCrashLoop(state)];
  });
  expect(seen).toEqual([
    [100, false],
    [200, false],
    [400, false],
    [800, true],
    [1600, true],
    [3200, true],
    [6400, true],
    [10_000, true],
    [10_000, true],
  ]);
  expect(state.restarts).toBe(9);
});

test("a good run makes the next end the first failure again, and restarts keep counting", () => {
  expect(nextRestart({ failures: 8, restarts: 8 }, 10_000)).toEqual({
    state: { failures: 1, restarts: 9 },
    delayMs: 100,
  });
});

test.each([
  { code: 0, signal: null, text: "exit code 0" },
  { code: 127, signal: null, text: "exit code 127 (command not found)" },
  { code: null, signal: "SIGKILL", text: "ended by SIGKILL" },
])("$code and $signal read: $text", ({ code, signal, text }) => {
  expect(exitText(code, signal)).toBe(text);
});
