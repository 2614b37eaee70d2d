import { expect, test } from "vitest";
import { toHandle } from "./handle.ts";

test("stop runs once, however often it is called", async () => {
  let stops = 0;
  const handle = toHandle({
    ended: Promise.resolve(),
    async stop() {
      stops += 1;
    },
  });
  await Promise.all([handle.stop(), handle.stop(), handle[Symbol.asyncDispose]()]);
  expect(stops).toBe(1);
});

test("members that change after the start stay readable", () => {
  let count = 0;
  const handle = toHandle({
    ended: Promise.resolve(),
    stop: async () => undefined,
    get count() {
      return count;
    },
  });
  count = 5;
  expect(handle.count).toBe(5);
});

test("an end no one listens to is not an unhandled rejection, and is still seen by who asks later", async () => {
  const handle = toHandle({ ended: Promise.reject(new Error("socket lost")), stop: async () => undefined });
  await new Promise((resolve) => setImmediate(resolve));
  await expect(handle.ended).rejects.toThrow("socket lost");
});
