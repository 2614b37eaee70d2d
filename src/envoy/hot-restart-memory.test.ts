import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openHotRestartMemory } from "./hot-restart-memory.ts";

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), "shared-memory-"));
  const memory = openHotRestartMemory("127.0.0.1:15000", folder);
  const path = join(folder, `envoy_shared_memory_${memory.baseId * 10}`);
  const write = (version: bigint, flags: bigint, bytes = 104) => {
    const content = Buffer.alloc(bytes, 7);
    content.writeBigUInt64LE(BigInt(bytes), 0);
    content.writeBigUInt64LE(version, 8);
    if (bytes >= 104) content.writeBigUInt64LE(flags, 96);
    writeFileSync(path, content);
    return content;
  };
  return { folder, memory, path, write, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

test("the same agent comes back to its id, another one gets another", () => {
  expect(openHotRestartMemory("127.0.0.1:15000").baseId).toBe(openHotRestartMemory("127.0.0.1:15000").baseId);
  expect(openHotRestartMemory("127.0.0.1:15000").baseId).not.toBe(openHotRestartMemory("127.0.0.1:15001").baseId);
});

test("the mark of a child at work is seen and taken back, and nothing else is touched", () => {
  using t = setUp();
  const before = t.write(11n, 1n);
  expect(t.memory.isInitializing()).toBe(true);
  expect(t.memory.clearInitializingMark()).toBe(true);
  expect(t.memory.isInitializing()).toBe(false);
  const after = readFileSync(t.path);
  expect(after.subarray(0, 96)).toEqual(before.subarray(0, 96));
  expect(after.readBigUInt64LE(96)).toBe(0n);
});

test.each([
  { what: "of another version", version: 12n, bytes: 104 },
  { what: "of another size", version: 11n, bytes: 96 },
])("memory $what is left alone", ({ version, bytes }) => {
  using t = setUp();
  const before = t.write(version, 1n, bytes);
  expect(t.memory.isInitializing()).toBeUndefined();
  expect(t.memory.clearInitializingMark()).toBe(false);
  expect(readFileSync(t.path)).toEqual(before);
});

test("memory that is not there is nothing to repair, and may be removed twice", () => {
  using t = setUp();
  expect(t.memory.clearInitializingMark()).toBe(false);
  t.write(11n, 0n);
  t.memory.remove();
  t.memory.remove();
  expect(existsSync(t.path)).toBe(false);
});
