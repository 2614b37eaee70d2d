import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { skipWith } from "../test/support/skip-with.ts";

const root = resolve(import.meta.dirname, "..");
const exec = promisify(execFile);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "clean clone "));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a clean clone in a folder with a space installs, builds itself and passes its tests", async (context) => {
  if (!existsSync(join(root, ".git"))) skipWith(context, "notice: not a git checkout (git clone it)");
  const clone = join(folder, "pilot agent");
  await exec("git", ["clone", "--quiet", root, clone]);
  await exec("npm", ["ci", "--no-audit", "--no-fund"], { cwd: clone });
  const { stdout: version } = await exec(join(clone, "bin/pilot-agent"), ["version"], { cwd: "/" });
  const { stdout: head } = await exec("git", ["rev-parse", "HEAD"], { cwd: clone });
  expect(version).toContain(`GitRevision:"${head.trim()}"`);
  expect(version).toContain('BuildStatus:"Clean"');
  const { stdout } = await exec("npm", ["run", "test:unit", "--", "--", "src/base"], {
    cwd: clone,
    maxBuffer: 64 * 1024 * 1024,
  });
  expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^[1-9]\d* passed, 0 failed, 0 skipped$/);
});
