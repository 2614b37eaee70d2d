import { expect } from "vitest";

/** Waits for a condition as long as a busy machine may need; a failing test costs the deadline, a passing one nothing. */
export function eventually<Value>(probe: () => Value | Promise<Value>) {
  return expect.poll(probe, { timeout: 10_000, interval: 10 });
}
