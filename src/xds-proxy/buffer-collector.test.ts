import { expect, test } from "vitest";
import { createBufferCollector, engineCollect } from "./buffer-collector.ts";

const MB = 1024 * 1024;

/** Feeds 64 KiB at a time, as a socket does, and lists what was collected. */
function collected(
  receivedBytes: number,
  held: number | { readonly afterAll: number; readonly later: number },
  streams: number,
): readonly ("young" | "all")[] {
  const seen: ("young" | "all")[] = [];
  const collector = createBufferCollector(
    () => (options) => void seen.push(options === undefined ? "all" : "young"),
    () => {
      if (typeof held === "number") return held;
      return seen.length === 0 || seen.at(-1) === "all" ? held.afterAll : held.later;
    },
  );
  collector.setStreams(streams);
  for (let left = receivedBytes; left > 0; left -= 64 * 1024) collector.received(64 * 1024);
  return seen;
}

const young = (count: number): "young"[] => Array(count).fill("young");

test.each([
  { what: "a small configuration costs no collection", streams: 1, received: 5 * MB, held: 40 * MB, expected: [] },
  { what: "every six megabytes young buffers go", streams: 2, received: 20 * MB, held: 3 * MB, expected: young(3) },
  { what: "of many streams every three", streams: 3, received: 20 * MB, held: 3 * MB, expected: young(6) },
  {
    what: "many old buffers are collected, but not at every look",
    streams: 2,
    received: 96 * MB,
    held: 30 * MB,
    expected: [...young(7), "all", ...young(7), "all"],
  },
  {
    what: "what many streams may hold is less",
    streams: 3,
    received: 24 * MB,
    held: { afterAll: 3 * MB, later: 12 * MB },
    expected: [...young(3), "all", ...young(3), "all"],
  },
  {
    what: "but where collecting them is in vain, it is done less often",
    streams: 3,
    received: 48 * 3 * MB,
    held: 14 * MB,
    expected: [...young(23), "all", ...young(23), "all"],
  },
  { what: "than what few may", streams: 2, received: 48 * MB, held: 12 * MB, expected: young(8) },
])("$what", ({ received, held, streams, expected }) => {
  expect(collected(received, held, streams)).toEqual(expected);
});

test("a look that few streams would not be worth yet is due at once when there are many", () => {
  const looks: unknown[] = [];
  const collector = createBufferCollector(() => (options) => void looks.push(options));
  collector.received(4 * MB);
  expect(looks).toHaveLength(0);
  collector.setStreams(3);
  collector.received(1);
  expect(looks).toHaveLength(1);
});

test("an engine without a collector to call is left alone, and is asked only when bytes pass", () => {
  let asked = 0;
  const collector = createBufferCollector(() => {
    asked += 1;
    return undefined;
  });
  expect(asked).toBe(0);
  collector.received(100 * MB);
  expect(asked).toBe(1);
});

test("the engine's collector frees buffers that no one holds, and stays unknown to everybody else", async () => {
  const collect = engineCollect();
  const gone = new WeakRef(Buffer.allocUnsafeSlow(MB));
  await new Promise((done) => setImmediate(done)); // a reference made in this turn keeps its target until the turn is over
  collect?.();
  expect(gone.deref()).toBeUndefined();
  expect(globalThis).not.toHaveProperty("gc");
});
