import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { createSnapshotStore } from "./start-last-good.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "snapshot-store-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** A file of an earlier time. */
function leave(name: string, minutesAgo: number): string {
  writeFileSync(join(directory, name), "x");
  const at = Date.now() / 1000 - minutesAgo * 60;
  utimesSync(join(directory, name), at, at);
  return name;
}

const hash = (digit: string) => digit.repeat(32);

test("what killed runs left unfinished goes with the next write; what is being written, and what is not ours, stays", async () => {
  leave(`.${hash("a")}.last-good.k3zq9x.tmp`, 5);
  const kept = [
    leave(`.${hash("b")}.last-good.0abc.tmp`, 0),
    leave(".somebody-else.tmp", 5),
    leave(`.${hash("c")}.tmp`, 5),
  ];
  const store = createSnapshotStore(directory, "me", silentLogger);
  await store.save(new Map(), 1);
  expect(readdirSync(directory).sort()).toEqual([...kept, basename(store.path)].sort());
});

test("of many nodes' files the newest sixteen are retained, the one just written among them", async () => {
  const digits = [..."0123456789abcdef"];
  for (const [index, digit] of digits.entries()) leave(`${hash(digit)}.last-good`, index + 1);
  const store = createSnapshotStore(directory, "me", silentLogger);
  await store.save(new Map(), 1);
  const names = readdirSync(directory);
  expect(names).toHaveLength(16);
  expect(names).toContain(basename(store.path));
  expect(names).not.toContain(`${hash("f")}.last-good`);
});
