import { expect, test } from "vitest";
import { silentLogger } from "../base/logger.ts";
import { takeCaptureLock } from "./capture-lock.ts";

/** A network of its own per test, as far as the lock is concerned. */
let count = 0;
const options = () => {
  count += 1;
  return { procNet: `/nowhere/${process.pid}-${count}/net`, log: silentLogger };
};

test("the second taker waits, says so, and gets the lock at the release", async () => {
  const said: string[] = [];
  const log = { ...silentLogger, warn: (text: string) => void said.push(text) };
  const given = { ...options(), log };
  const order: string[] = [];
  const first = await takeCaptureLock(given);
  expect(first.hasWaited).toBe(false);
  const second = takeCaptureLock(given).then(async (lock) => {
    order.push("second");
    expect(lock.hasWaited).toBe(true);
    await lock[Symbol.asyncDispose]();
  });
  await expect.poll(() => said).toHaveLength(1);
  order.push("first released");
  await first[Symbol.asyncDispose]();
  await second;
  expect(order).toEqual(["first released", "second"]);
  expect(said[0]).toContain("another traffic capture command is changing this network");
});

test("waiting has an end", async () => {
  const given = options();
  await using _held = await takeCaptureLock(given);
  await expect(takeCaptureLock({ ...given, limitMs: 10 })).rejects.toMatchObject({ code: "busy" });
});

test("a released lock can be taken again at once", async () => {
  const given = options();
  for (let times = 0; times < 3; times += 1) {
    await using _lock = await takeCaptureLock(given);
  }
});
