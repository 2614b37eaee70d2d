import { expect, test } from "vitest";
import { createPortMap, portOwners, releaseAll } from "./port-owners.ts";

test("a query is another thread's while that thread has the port and waits for the id", () => {
  const map = createPortMap(2);
  const [first, second] = [portOwners(map, 1), portOwners(map, 2)];
  first.claim(40_000);
  expect(second.isOfOtherThread(40_000, 7)).toBe(false);
  first.sent(7);
  expect([first, second].map((owners) => owners.isOfOtherThread(40_000, 7))).toEqual([false, true]);
  expect(second.isOfOtherThread(40_000, 8)).toBe(false);
  expect(second.isOfOtherThread(40_001, 7)).toBe(false);
  first.settled(7);
  expect(second.isOfOtherThread(40_000, 7)).toBe(false);
  first.sent(7);
  first.release(40_000);
  expect(second.isOfOtherThread(40_000, 7)).toBe(false);
});

test("an id that waits twice, on two sockets, waits until both are settled", () => {
  const map = createPortMap(2);
  const [first, second] = [portOwners(map, 1), portOwners(map, 2)];
  second.claim(1);
  second.sent(65_535);
  second.sent(65_535);
  second.settled(65_535);
  expect(first.isOfOtherThread(1, 65_535)).toBe(true);
});

test("a port that another thread got meanwhile is not taken from it", () => {
  const map = createPortMap(2);
  const [first, second] = [portOwners(map, 1), portOwners(map, 2)];
  first.claim(65_535);
  second.claim(65_535);
  first.release(65_535);
  expect(map.owners[65_535]).toBe(2);
});

test("all that a dead thread had is released, what the others have stays", () => {
  const map = createPortMap(3);
  const [second, third] = [portOwners(map, 2), portOwners(map, 3)];
  for (const port of [0, 1, 30_000, 65_535]) third.claim(port);
  for (const id of [0, 65_535]) third.sent(id);
  second.claim(30_001);
  second.sent(65_535);
  releaseAll(map, 3);
  expect([...map.owners.entries()].filter(([, owner]) => owner !== 0)).toEqual([[30_001, 2]]);
  expect(map.waiting.reduce((sum, count) => sum + count, 0)).toBe(1);
  expect(third.isOfOtherThread(30_001, 65_535)).toBe(true);
});
