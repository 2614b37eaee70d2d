import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mapBounded } from "./map-bounded.ts";

/** Tasks that end when the test says so. */
function scripted() {
  const ends = new Map<number, { readonly done: (result: string) => void; readonly fail: (reason: Error) => void }>();
  const begun: number[] = [];
  const task = (item: number) =>
    new Promise<string>((done, fail) => {
      begun.push(item);
      ends.set(item, { done, fail });
    });
  const end = async (item: number, failure?: Error) => {
    if (failure === undefined) ends.get(item)?.done(`of ${item}`);
    else ends.get(item)?.fail(failure);
    ends.delete(item);
    await new Promise(setImmediate);
  };
  return { task, begun, end, running: () => [...ends.keys()] };
}

test("results are in the order of the items, regardless of the order in which the tasks end", async () => {
  const { task, end } = scripted();
  const all = mapBounded([1, 2, 3], task, { maxTasks: 3 });
  for (const item of [3, 1, 2]) await end(item);
  expect(await all).toEqual(["of 1", "of 2", "of 3"]);
});

test("as many tasks as allowed are under way, the next begins when one ends", async () => {
  const { task, end, running, begun } = scripted();
  const all = mapBounded([1, 2, 3, 4], task, { maxTasks: 2 });
  expect(running()).toEqual([1, 2]);
  await end(2);
  expect(running()).toEqual([1, 3]);
  for (const item of [1, 3, 4]) await end(item);
  expect(begun).toEqual([1, 2, 3, 4]);
  expect(await all).toHaveLength(4);
});

test("nothing to do is done at once", async () => {
  expect(await mapBounded([], () => Promise.reject(new Error("never called")), { maxTasks: 1 })).toEqual([]);
});

describe("costs", () => {
  const bounds = { maxTasks: 10, maxCost: 10, costOf: (item: number) => item };

  test("what is under way costs no more than allowed, and items keep their turn", async () => {
    const { task, end, running } = scripted();
    const all = mapBounded([6, 5, 1, 3], task, bounds);
    expect(running()).toEqual([6]);
    await end(6);
    expect(running()).toEqual([5, 1, 3]);
    for (const item of [5, 1, 3]) await end(item);
    await all;
  });

  test("an item beyond all that is allowed goes alone", async () => {
    const { task, end, running } = scripted();
    const all = mapBounded([1, 99, 2], task, bounds);
    expect(running()).toEqual([1]);
    await end(1);
    expect(running()).toEqual([99]);
    await end(99);
    expect(running()).toEqual([2]);
    await end(2);
    await all;
  });
});

test("after a failure nothing is begun, and the first reason is reported when all has ended", async () => {
  const { task, end, begun } = scripted();
  const all = mapBounded([1, 2, 3], task, { maxTasks: 2 });
  const outcome = all.then(
    () => "resolved",
    (reason: Error) => reason.message,
  );
  await end(1, new Error("first"));
  expect(begun).toEqual([1, 2]);
  expect(await Promise.race([outcome, "open"])).toBe("open");
  await end(2, new Error("second"));
  expect(await outcome).toBe("first");
});

test("for any costs and bounds, every item is done once and no bound is crossed", async () => {
  const costs = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 40 });
  const anyBounds = fc.record({ maxTasks: fc.integer({ min: 1, max: 5 }), maxCost: fc.integer({ min: 1, max: 30 }) });
  await fc.assert(
    fc.asyncProperty(costs, anyBounds, async (items, bounds) => {
      const underWay: number[] = [];
      const task = async (item: number) => {
        underWay.push(item);
        const together = underWay.reduce((sum, cost) => sum + cost, 0);
        expect(underWay.length).toBeLessThanOrEqual(bounds.maxTasks);
        expect(underWay.length === 1 || together <= bounds.maxCost).toBe(true);
        for (let turns = item % 4; turns > 0; turns -= 1) await Promise.resolve();
        underWay.splice(underWay.indexOf(item), 1);
        return item;
      };
      expect(await mapBounded(items, task, { ...bounds, costOf: (item) => item })).toEqual(items);
    }),
  );
});
