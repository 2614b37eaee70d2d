import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { GrpcError } from "../status.ts";
import { CallLimit } from "./call-limit.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const forever = new Promise<never>(() => undefined);

test("the deadline ends a call in every wait", async () => {
  const limit = new CallLimit({ timeoutMs: 100 });
  const waiting = expect(limit.race(forever)).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
  await vi.advanceTimersByTimeAsync(100);
  await waiting;
});

test("what remains shrinks with time; without a deadline there is none", async () => {
  const limit = new CallLimit({ timeoutMs: 100 });
  await vi.advanceTimersByTimeAsync(30);
  expect(limit.remainingMs).toBe(70);
  limit.stop();
  expect(new CallLimit({}).remainingMs).toBeUndefined();
});

test("a deadline of years does not overflow into now", async () => {
  const limit = new CallLimit({ timeoutMs: 1e12 });
  const reached = vi.fn();
  limit.onReached(reached);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(reached).not.toHaveBeenCalled();
  limit.stop();
});

test("a signal ends it with its reason; one that is a GrpcError as it is", () => {
  const controller = new AbortController();
  const reached = vi.fn();
  new CallLimit({ signal: controller.signal }).onReached(reached);
  controller.abort(new Error("newer stream"));
  expect(reached.mock.calls[0]?.[0]).toMatchObject({
    code: "CANCELLED",
    message: "the call was cancelled: newer stream",
  });
  const reason = new GrpcError("ABORTED", "x");
  new CallLimit({ signal: AbortSignal.abort(reason) }).onReached(reached);
  expect(reached.mock.calls[1]?.[0]).toBe(reason);
});

test("after stop nothing fires and no timer is left", () => {
  const controller = new AbortController();
  const reached = vi.fn();
  const limit = new CallLimit({ signal: controller.signal, timeoutMs: 10 });
  limit.onReached(reached);
  limit.stop();
  controller.abort();
  vi.runAllTimers();
  expect(reached).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});
