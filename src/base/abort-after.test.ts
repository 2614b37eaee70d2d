import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { abortAfter } from "./abort-after.ts";

const aborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));

test("the limit aborts with a timeout error", async () => {
  const limit = abortAfter(5);
  expect(await aborted(limit.signal)).toMatchObject({ name: "TimeoutError" });
  expect(limit.expired).toBe(true);
});

test("the parent's abort passes with its reason", async () => {
  const parent = new AbortController();
  const limit = abortAfter(60_000, parent.signal);
  const reason = aborted(limit.signal);
  parent.abort("stopped");
  expect(await reason).toBe("stopped");
  expect(limit.expired).toBe(false);
  limit.end();
});

test("a parent that is aborted already aborts at once and leaves no timer", () => {
  const limit = abortAfter(60_000, AbortSignal.abort("before"));
  expect([limit.signal.aborted, limit.signal.reason]).toEqual([true, "before"]);
});

test("after the end nothing aborts any more and the parent has no listener left", () => {
  const parent = new AbortController();
  const limit = abortAfter(1, parent.signal);
  limit.end();
  limit.end();
  parent.abort();
  expect(limit.signal.aborted).toBe(false);
  expect(getEventListeners(parent.signal, "abort")).toEqual([]);
});

test("a garbage collection does not take the limit away", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const parent = new AbortController();
  const reason = aborted(abortAfter(20, parent.signal).signal);
  collect();
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(await reason).toMatchObject({ name: "TimeoutError" });
});

test("a limit beyond what timers know does not come at once", async () => {
  using limit = abortAfter(2 ** 40);
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(limit.signal.aborted).toBe(false);
});
