import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchProgress } from "./relay-stream.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watch() {
  const state = { owed: false, count: 0 };
  let failure: unknown;
  const watching = watchProgress(30_000, [{ what: "it hangs", read: () => state }]);
  watching.stuck.catch((reason: unknown) => {
    failure = reason;
  });
  const after = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    return failure;
  };
  return { state, watching, after };
}

test("what is owed and does not move for the limit is a failure", async () => {
  const { state, after } = watch();
  state.owed = true;
  expect(await after(25_000)).toBeUndefined();
  expect(await after(10_000)).toMatchObject({ code: "UNAVAILABLE", message: "no progress within 30 s: it hangs" });
});

test("any progress restarts the time", async () => {
  const { state, after } = watch();
  state.owed = true;
  for (let round = 0; round < 10; round += 1) {
    state.count += 1;
    expect(await after(25_000)).toBeUndefined();
  }
});

test("where nothing is owed, silence may last", async () => {
  const { after, watching } = watch();
  expect(await after(3_600_000)).toBeUndefined();
  watching[Symbol.dispose]();
  expect(vi.getTimerCount()).toBe(0);
});
