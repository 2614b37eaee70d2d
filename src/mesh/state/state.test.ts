import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { identifyProcess, isAlive } from "../../process/process-identity.ts";
import { lockFolder, lockHolder, removeStale } from "./lock.ts";
import { createStateRecord, type MeshState, readState } from "./mesh-state.ts";
import { stateFolder, stateHome } from "./state-folder.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mesh-state-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function endedProcess() {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  const identity = identifyProcess(child.pid ?? 0);
  child.kill("SIGKILL");
  await once(child, "exit");
  if (identity === undefined) throw new Error("sleep did not start");
  return identity;
}

const state = (): MeshState => ({
  format: 1,
  runId: "r",
  name: "shop",
  startedAt: "2026-01-01T00:00:00Z",
  parent: { pid: 1, start: "1" },
  controlSocket: "/tmp/x",
  program: { launcher: "pilot-agent", node: "node" },
  namespaces: [],
  interfaces: [],
  resolverFolders: [],
  processes: {},
});

test("a process is known by its number and its start, and a dead one is not alive", async () => {
  const own = identifyProcess(process.pid);
  expect(own && isAlive(own)).toBe(true);
  expect(isAlive({ pid: process.pid, start: "0" })).toBe(false);
  expect(isAlive(await endedProcess())).toBe(false);
});

test("a second process is shown who holds the folder", () => {
  const path = join(folder, "shop/lock");
  const lock = lockFolder(path);
  expect(() => lockFolder(path)).toThrow(`this mesh runs already, as process ${process.pid}`);
  lock.release();
  expect(existsSync(path)).toBe(false);
  lockFolder(path).release();
});

test("the lock of a process that is gone is taken over", async () => {
  const path = join(folder, "lock");
  writeFileSync(path, JSON.stringify(await endedProcess()));
  expect(lockHolder(path)).toBeUndefined();
  const lock = lockFolder(path);
  expect(lockHolder(path)?.pid).toBe(process.pid);
  lock.release();
  expect(readdirSync(folder)).toEqual([]);
});

test("a lock that another process took over between the look and the removal goes back to it", () => {
  const path = join(folder, "lock");
  const lock = lockFolder(path);
  removeStale(path, join(folder, "aside"));
  expect(lockHolder(path)?.pid).toBe(process.pid);
  expect(readdirSync(folder)).toEqual(["lock"]);
  lock.release();
  removeStale(path, join(folder, "aside"));
  expect(readdirSync(folder)).toEqual([]);
});

test("a lock file with no sense in it does not keep anybody out", () => {
  const path = join(folder, "lock");
  writeFileSync(path, "{");
  lockFolder(path).release();
});

test("a folder that cannot be made is an error with its reason", () => {
  writeFileSync(join(folder, "file"), "");
  expect(() => lockFolder(join(folder, "file/lock"))).toThrow(/cannot use the state folder: ENOTDIR|EEXIST/);
});

test("what was recorded is read back, and changes keep the rest", () => {
  const path = stateFolder(folder).stateFile;
  expect(readState(path)).toBeUndefined();
  const record = createStateRecord(path, state());
  record.update({ namespaces: ["a"] });
  record.update({ interfaces: ["b"] });
  expect(readState(path)).toEqual({ ...state(), namespaces: ["a"], interfaces: ["b"] });
  expect(readdirSync(folder)).toEqual(["state.json"]);
});

test.each([
  { what: "empty", text: "" },
  { what: "cut off", text: JSON.stringify(state()).slice(0, 80) },
  { what: "null", text: "null" },
  { what: "without its parent", text: JSON.stringify({ ...state(), parent: undefined }) },
  { what: "without its lists", text: JSON.stringify({ ...state(), namespaces: undefined }) },
  { what: "with a process that is none", text: JSON.stringify({ ...state(), processes: { "web/app": { pid: -1 } } }) },
])("a state file that is $what is not taken for a whole one", ({ text }) => {
  const path = join(folder, "state.json");
  writeFileSync(path, text);
  expect(() => readState(path)).toThrow(`${path} is not the state of a mesh`);
});

test("a state file of another party is not touched", () => {
  writeFileSync(join(folder, "state.json"), "hello");
  expect(() => readState(join(folder, "state.json"))).toThrow("is not the state of a mesh");
});

test.each([
  { isRoot: true, home: "/root", xdgStateHome: "/x", expected: "/var/lib/pilot-agent/mesh" },
  { isRoot: false, home: "/home/u", xdgStateHome: undefined, expected: "/home/u/.local/state/pilot-agent/mesh" },
  { isRoot: false, home: "/home/u", xdgStateHome: "/x", expected: "/x/pilot-agent/mesh" },
  { isRoot: false, home: undefined, xdgStateHome: "", expected: "/tmp/pilot-agent/mesh" },
])("states are stored in $expected", ({ expected, ...given }) => {
  expect(stateHome({ ...given, temporary: "/tmp" })).toBe(expected);
});
