import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { identifyProcess } from "../../process/process-identity.ts";
import { createFlagValues } from "../framework/flag-values.ts";
import { parseFlags } from "../framework/parse-flags.ts";
import { othersText } from "./ls.ts";
import { stateFolderOf, TARGET_FLAGS, targetFolder } from "./target.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "mesh-home-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function context(...words: readonly string[]) {
  const all = ["--state-dir", home, ...words];
  return { flags: createFlagValues(TARGET_FLAGS, parseFlags(TARGET_FLAGS, all, false).set, {}), env: {} };
}

function leave(name: string, change: object = {}): void {
  mkdirSync(join(home, name));
  const state = {
    ...{ format: 1, runId: "r", name, startedAt: "", parent: identifyProcess(process.pid), controlSocket: "/tmp/x" },
    ...{ program: { launcher: "a", node: "n" }, namespaces: [], interfaces: [], resolverFolders: [], processes: {} },
    ...change,
  };
  writeFileSync(join(home, name, "state.json"), JSON.stringify(state));
}

test.each(["..", "../../etc", "/tmp/x", "a/b", "Shop", "-x", "a\nb", ".", "x".repeat(41)])(
  "%j is no name of a mesh: a name never leads out of the state's home",
  (name) => {
    expect(() => stateFolderOf(context(), name)).toThrow(`--name is ${JSON.stringify(name)}, allowed are`);
    expect(() => targetFolder(context(`--name=${name}`))).toThrow("allowed are at most 40");
    expect(existsSync(join(home, name.replace(/^.*\//, "")))).toBe(name === "." || name === "..");
  },
);

test("the only mesh that runs is meant, regardless of what others have left", () => {
  leave("one");
  leave("gone", { parent: { pid: process.pid, start: "0" } });
  leave("broken", { parent: undefined });
  expect(targetFolder(context()).path).toBe(join(home, "one"));
});

test("a mesh that has ended does not hide one that runs, also where the file of the former is", () => {
  leave("one");
  mkdirSync(join(home, "ended", "logs"), { recursive: true });
  const before = process.cwd();
  writeFileSync(join(home, "mesh.yaml"), "name: ended\nservices: {web: {command: x}}\n");
  process.chdir(home);
  try {
    expect(targetFolder(context(), { alsoEnded: true }).path).toBe(join(home, "one"));
    rmSync(join(home, "one"), { recursive: true });
    expect(targetFolder(context(), { alsoEnded: true }).path).toBe(join(home, "ended"));
  } finally {
    process.chdir(before);
  }
});

test("a state that cannot be read is reported when there is no other, and can be named", () => {
  leave("broken", { parent: undefined });
  expect(targetFolder(context()).path).toBe(join(home, "broken"));
  expect(targetFolder(context("--name", "broken")).path).toBe(join(home, "broken"));
});

test("of several meshes one has to be named", () => {
  leave("one");
  leave("two");
  expect(() => targetFolder(context())).toThrow("several meshes run: one, two; choose one with --name");
});

test("mesh ls names the meshes of other users, whose state it cannot read", () => {
  const mine = join(home, "mine");
  const theirs = join(home, "theirs");
  for (const path of [join(mine, "shop"), join(theirs, "bank"), join(theirs, "blog")])
    mkdirSync(path, { recursive: true });
  expect(othersText(mine, [mine, theirs, join(home, "nobody")])).toBe(`of another user, in ${theirs}: bank, blog\n`);
});
