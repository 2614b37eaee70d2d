import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { skipWith } from "../test/support/skip-with.ts";

const root = resolve(import.meta.dirname, "..");
const exec = promisify(execFile);

/** Which functions of the agent V8 has compiled when it is ready depends on the order in which its peers answered. */
const FOLLOWS_FROM_A_RUN = /^proxy.*\.cache$/;

/** Of all other files below a folder, by path. */
function digestsOf(dist: string): Readonly<Record<string, string>> {
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter(
    (name) => statSync(join(dist, name)).isFile() && !FOLLOWS_FROM_A_RUN.test(name),
  );
  const digest = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(dist, name)))
      .digest("hex");
  return Object.fromEntries(files.sort().map((name) => [name, digest(name)]));
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "clean clone "));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a clean clone in a folder with a space installs, builds itself, the same each time, and passes its tests", async (context) => {
  if (!existsSync(join(root, ".git"))) skipWith(context, "notice: not a git checkout (git clone it)");
  const clone = join(folder, "pilot agent");
  await exec("git", ["clone", "--quiet", root, clone]);
  await exec("npm", ["ci", "--no-audit", "--no-fund"], { cwd: clone });
  const { stdout: version } = await exec(join(clone, "bin/pilot-agent"), ["version"], { cwd: "/" });
  const { stdout: head } = await exec("git", ["rev-parse", "HEAD"], { cwd: clone });
  expect(version).toContain(`GitRevision:"${head.trim()}"`);
  expect(version).toContain('BuildStatus:"Clean"');
  const built = digestsOf(join(clone, "dist"));
  expect(Object.keys(built)).toContainEqual(expect.stringMatching(/^commands\.cjs-.*\.cache$/));
  await exec(process.execPath, ["scripts/build.mjs"], { cwd: clone });
  expect(digestsOf(join(clone, "dist"))).toEqual(built);
  const { stdout } = await exec("npm", ["run", "test:unit", "--", "--", "src/base"], {
    cwd: clone,
    maxBuffer: 64 * 1024 * 1024,
  });
  expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^[1-9]\d* passed, 0 failed, 0 skipped$/);
});
