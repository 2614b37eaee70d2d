import { expect, test } from "vitest";
import { untilAborted, wait } from "./wait.ts";

test("an abort ends the wait at once and leaves no timer", async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  const stop = new AbortController();
  const waiting = wait(60_000, stop.signal);
  expect(timers()).toBe(before + 1);
  stop.abort();
  await waiting;
  expect(timers()).toBe(before);
});

test("an aborted signal does not wait at all", async () => {
  await wait(60_000, AbortSignal.abort());
});

test("the listener is gone after a wait that ran its time", async () => {
  const stop = new AbortController();
  let removed = 0;
  const remove = stop.signal.removeEventListener.bind(stop.signal);
  stop.signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    removed += 1;
    remove(...args);
  };
  await wait(1, stop.signal);
  expect(removed).toBe(1);
});

test.each([2 ** 31, 9e15, Number.POSITIVE_INFINITY])("a wait of %d ms does not end at once", async (ms) => {
  const stop = new AbortController();
  let isOver = false;
  const waiting = wait(ms, stop.signal).then(() => {
    isOver = true;
  });
  await wait(20);
  expect(isOver).toBe(false);
  stop.abort();
  await waiting;
});

test("waiting for a signal ends with its abort, also when that was before", async () => {
  const controller = new AbortController();
  let isOver = false;
  const waiting = untilAborted(controller.signal).then(() => {
    isOver = true;
  });
  await Promise.resolve();
  expect(isOver).toBe(false);
  controller.abort();
  await waiting;
  await untilAborted(controller.signal);
});
