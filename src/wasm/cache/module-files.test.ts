import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import { wasmModule } from "../../../test/support/wasm/resources.ts";
import { contentFile, openModuleFiles, sha256 } from "./module-files.ts";

const module = wasmModule("m");
const image = { name: "oci://r/app", checksum: "a".repeat(64) };
let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "wasm-files-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test("a module is written although someone keeps taking its empty folder away", async () => {
  const files = openModuleFiles(directory, undefined);
  const key = { name: "n", checksum: sha256(module) };
  // As the purge of another agent does, only far more often: up to three times while one module is written.
  const taken = new Int32Array(new SharedArrayBuffer(4));
  const source = `
    const { taken, folder } = require("node:worker_threads").workerData;
    const { rmdirSync } = require("node:fs");
    for (;;) {
      if (Atomics.load(taken, 0) >= 3) continue;
      try { rmdirSync(folder); Atomics.add(taken, 0, 1); } catch {}
    }`;
  const other = new Worker(source, { eval: true, workerData: { taken, folder: join(directory, sha256("n")) } });
  let total = 0;
  try {
    await new Promise((ready) => other.once("online", ready));
    for (let index = 0; index < 300; index += 1) {
      total += Atomics.exchange(taken, 0, 0);
      const { path } = await files.write(key, module);
      expect(readFileSync(path).equals(module)).toBe(true);
      rmSync(path);
    }
  } finally {
    await other.terminate();
  }
  expect(total).toBeGreaterThan(0);
});

test.each([
  { used: "before", since: 1000, removed: true },
  { used: "at", since: 0, removed: false },
  { used: "after", since: -1000, removed: false },
])("a file that was used $used the time is removed: $removed", async ({ since, removed }) => {
  const files = openModuleFiles(directory, undefined);
  const { path } = await files.write(image, module);
  const time = new Date(1_700_000_000_000);
  utimesSync(path, time, time);
  expect(files.removeUnused(path, time.getTime() + since)).toBe(removed);
  expect([path, contentFile(path), dirname(path)].map(existsSync)).toEqual(Array(3).fill(!removed));
});

test("a file that is gone already counts as removed, and its folder goes", async () => {
  const files = openModuleFiles(directory, undefined);
  const { path } = await files.write(image, module);
  rmSync(path);
  expect(files.removeUnused(path, 0)).toBe(true);
  expect(existsSync(dirname(path))).toBe(false);
});

test("what says how an image's module must look is as old as the module", async () => {
  const files = openModuleFiles(directory, undefined);
  const { path } = await files.write(image, module);
  const past = new Date(Date.now() - 3_600_000);
  utimesSync(contentFile(path), past, past);
  expect(await files.olderThan(Date.now() - 60_000)).toEqual([]);
  rmSync(path);
  expect(await files.olderThan(Date.now() - 60_000)).toEqual([contentFile(path)]);
});

test("a use is the file's time", async () => {
  const files = openModuleFiles(directory, undefined);
  const { path } = await files.write(image, module);
  await files.touch(path, 1_600_000_000_000);
  expect(statSync(path).mtimeMs).toBe(1_600_000_000_000);
  await files.touch(join(directory, "nothing"), 1);
});
