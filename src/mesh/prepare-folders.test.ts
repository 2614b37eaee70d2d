import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { refuseForeignFolder } from "./prepare-folders.ts";
import { type StateFolder, stateFolder } from "./state/state-folder.ts";

let folder: StateFolder;
beforeEach(() => {
  folder = stateFolder(mkdtempSync(join(tmpdir(), "mesh-folder-")));
});
afterEach(() => rmSync(folder.path, { recursive: true, force: true }));

test("a folder with something else in it is refused: a mesh would clear parts of it", () => {
  mkdirSync(folder.config);
  expect(() => refuseForeignFolder(folder)).toThrow(`${folder.path} holds config and is not the folder of a mesh`);
  expect(existsSync(folder.config)).toBe(true);
});

test.each([
  { what: "not there", make: () => rmSync(folder.path, { recursive: true }) },
  { what: "empty", make: () => undefined },
  { what: "taken by another start", make: () => writeFileSync(`${folder.lockFile}.17`, "") },
  { what: "left by a run that ended in order", make: () => leave("logs", folder.meshConfig) },
  { what: "left by a run that was killed", make: () => leave("config", folder.stateFile) },
])("a folder that is $what is fine", ({ make }) => {
  make();
  expect(() => refuseForeignFolder(folder)).not.toThrow();
});

function leave(name: string, file: string): void {
  mkdirSync(join(folder.path, name));
  writeFileSync(file, "");
}
