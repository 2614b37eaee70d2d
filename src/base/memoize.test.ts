import { expect, test } from "vitest";
import { memoize } from "./memoize.ts";

test.each([undefined, 0, "made"])("%j is made when it is first asked for, and once", (value) => {
  let calls = 0;
  const read = memoize(() => {
    calls += 1;
    return value;
  });
  expect(calls).toBe(0);
  expect([read(), read()]).toEqual([value, value]);
  expect(calls).toBe(1);
});

test("a failure is not memoized", () => {
  let calls = 0;
  const read = memoize(() => {
    calls += 1;
    if (calls === 1) throw new Error("not yet");
    return calls;
  });
  expect(read).toThrow("not yet");
  expect([read(), read()]).toEqual([2, 2]);
});
