import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createDebounced } from "./debounce.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A run that ends when the test says so. */
const gate = () => {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};

const setup = (task: () => Promise<void> = async () => undefined) => {
  const run = vi.fn(task);
  return { run, debounced: createDebounced(run, { quietMs: 50, maxWaitMs: 500 }) };
};

test("a burst is one run, the quiet time after its last event", async () => {
  const { run, debounced } = setup();
  for (let index = 0; index < 5; index += 1) {
    debounced.trigger();
    await vi.advanceTimersByTimeAsync(40);
  }
  expect(run).toHaveBeenCalledTimes(0);
  await vi.advanceTimersByTimeAsync(10);
  expect(run).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(5000);
  expect(run).toHaveBeenCalledTimes(1);
});

test("events without pause run at the latest after the longest wait: 100 in a second are two runs, and one at the end", async () => {
  const { run, debounced } = setup();
  for (let index = 0; index < 100; index += 1) {
    debounced.trigger();
    await vi.advanceTimersByTimeAsync(10);
  }
  await vi.advanceTimersByTimeAsync(500);
  expect(run.mock.calls.length).toBeGreaterThanOrEqual(2);
  expect(run.mock.calls.length).toBeLessThanOrEqual(3);
});

test("an event during a run leads to exactly one more, never to two at a time", async () => {
  let running = 0;
  const ends = [gate(), gate()];
  const { run, debounced } = setup(async () => {
    running += 1;
    expect(running).toBe(1);
    await ends[run.mock.calls.length - 1]?.promise;
    running -= 1;
  });
  debounced.trigger();
  await vi.advanceTimersByTimeAsync(60);
  debounced.trigger();
  debounced.trigger();
  await vi.advanceTimersByTimeAsync(2000);
  expect(run).toHaveBeenCalledTimes(1);
  for (const end of ends) {
    end.resolve();
    await vi.advanceTimersByTimeAsync(2000);
  }
  expect(run).toHaveBeenCalledTimes(2);
});

test.each([2 ** 31, 1e15, Number.POSITIVE_INFINITY])("times of %d ms do not mean at once", async (ms) => {
  const run = vi.fn(async () => undefined);
  const debounced = createDebounced(run, { quietMs: ms, maxWaitMs: ms });
  debounced.trigger();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(run).not.toHaveBeenCalled();
  await debounced.stop();
});

test("stopping waits for the run and drops what was to come", async () => {
  const end = gate();
  const { run, debounced } = setup(() => end.promise);
  debounced.trigger();
  await vi.advanceTimersByTimeAsync(60);
  debounced.trigger();
  const stopped = vi.fn();
  const stopping = debounced.stop().then(stopped);
  await vi.advanceTimersByTimeAsync(1000);
  expect(stopped).not.toHaveBeenCalled();
  end.resolve();
  await stopping;
  debounced.trigger();
  await vi.advanceTimersByTimeAsync(1000);
  expect(run).toHaveBeenCalledTimes(1);
});
