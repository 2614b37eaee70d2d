import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { joinSignals } from "./joined-signal.ts";

test("aborts with the first of the others", () => {
  const [one, two] = [new AbortController(), new AbortController()];
  const joined = joinSignals([one.signal, two.signal]);
  expect(joined.signal.aborted).toBe(false);
  two.abort();
  expect(joined.signal.aborted).toBe(true);
  joined.release();
});

test("is aborted from the start when one of the others is", () => {
  expect(joinSignals([AbortSignal.abort()]).signal.aborted).toBe(true);
});

test("aborts after its time", async () => {
  const joined = joinSignals([], 5);
  await expect.poll(() => joined.signal.aborted).toBe(true);
});

test("leaves nothing on the others once it is released", () => {
  const other = new AbortController();
  const joined = joinSignals([other.signal], 5);
  expect(getEventListeners(other.signal, "abort")).toHaveLength(1);
  joined.release();
  expect(getEventListeners(other.signal, "abort")).toHaveLength(0);
  other.abort();
  expect(joined.signal.aborted).toBe(false);
});
