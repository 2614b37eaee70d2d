import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { GrpcError } from "../../grpc/status.ts";
import { countSendFailure, isDoneWithin } from "./send-failures.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new Promise<void>(() => undefined);

test("work is done in time, or late, and leaves no timer either way", async () => {
  await expect(isDoneWithin(Promise.resolve(), 100)).resolves.toBe(true);
  const late = isDoneWithin(never, 100);
  await vi.advanceTimersByTimeAsync(100);
  await expect(late).resolves.toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([undefined, 2 ** 31, Number.POSITIVE_INFINITY])("within %d ms nobody is late after a minute", async (ms) => {
  const settled = vi.fn();
  void isDoneWithin(never, ms).then(settled);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(settled).not.toHaveBeenCalled();
});

test("work that fails is told to who waits for it", async () => {
  await expect(isDoneWithin(Promise.reject(new Error("broken")), 100)).rejects.toThrow("broken");
});

test.each([
  { thrown: new GrpcError("CANCELLED", "gone"), counts: [] },
  { thrown: new GrpcError("UNAVAILABLE", "gone"), counts: [] },
  { thrown: new GrpcError("RESOURCE_EXHAUSTED", "too large"), counts: [["cds_senderr"]] },
  { thrown: new Error("broken"), counts: [["cds_senderr"]] },
])("a send that fails with $thrown counts as $counts", ({ thrown, counts }) => {
  const inc = vi.fn();
  const pushes = { inc } as unknown as Parameters<typeof countSendFailure>[0]["pushes"];
  countSendFailure({ pushes }, "cds", thrown);
  expect(inc.mock.calls.map(([labels]) => labels)).toEqual(counts);
});
