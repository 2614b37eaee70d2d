import { expect, test } from "vitest";
import { createBufferCollector, engineCollect } from "./buffer-collector.ts";

const MB = 1024 * 1024;

/** Feeds 64 KiB at a time, as a socket does, and lists what was collected. */
function collected(receivedBytes: number, bufferBytes: number): readonly ("young" | "all")[] {
  const seen: ("young" | "all")[] = [];
  const collector = createBufferCollector(
    () => (options) => void seen.push(options === undefined ? "all" : "young"),
    () => bufferBytes,
  );
  for (let left = receivedBytes; left > 0; left -= 64 * 1024) collector.received(64 * 1024);
  return seen;
}

const young = (count: number): "young"[] => Array(count).fill("young");

test.each([
  { what: "a small configuration costs no collection", received: 5 * MB, held: 40 * MB, expected: [] },
  { what: "every six megabytes young buffers go", received: 20 * MB, held: 3 * MB, expected: young(3) },
  {
    what: "many old buffers are collected, but not at every look",
    received: 96 * MB,
    held: 30 * MB,
    expected: [...young(7), "all", ...young(7), "all"],
  },
])("$what", ({ received, held, expected }) => {
  expect(collected(received, held)).toEqual(expected);
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

test("the engine's collector frees buffers that nobody holds, and stays unknown to everybody else", async () => {
  const collect = engineCollect();
  const gone = new WeakRef(Buffer.allocUnsafeSlow(MB));
  await new Promise((done) => setImmediate(done)); // a reference made in this turn keeps its target until the turn is over
  collect?.();
  expect(gone.deref()).toBeUndefined();
  expect(globalThis).not.toHaveProperty("gc");
});
