import { expect, test } from "vitest";
import { createPortMap, portOwners, releaseAll } from "./port-owners.ts";

test("a port belongs to the thread that claimed it until it is released", () => {
  const map = createPortMap();
  const [first, second] = [portOwners(map, 1), portOwners(map, 2)];
  first.claim(40_000);
  expect([first, second].map((owners) => owners.isOfOtherThread(40_000))).toEqual([false, true]);
  first.release(40_000);
  expect(second.isOfOtherThread(40_000)).toBe(false);
});

test("a port that another thread got meanwhile is not taken from it", () => {
  const map = createPortMap();
  const [first, second] = [portOwners(map, 1), portOwners(map, 2)];
  first.claim(65_535);
  second.claim(65_535);
  first.release(65_535);
  expect(first.isOfOtherThread(65_535)).toBe(true);
});

test("all ports of a dead thread are released, those of the others stay", () => {
  const map = createPortMap();
  for (const port of [0, 1, 30_000, 65_535]) portOwners(map, 3).claim(port);
  portOwners(map, 2).claim(30_001);
  releaseAll(map, 3);
  expect([...map.entries()].filter(([, owner]) => owner !== 0)).toEqual([[30_001, 2]]);
});
