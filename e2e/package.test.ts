import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { transform } from "esbuild";
import { expect, test } from "vitest";
import { temporaryFolder } from "../test/support/files/temporary-folder.ts";

const root = resolve(import.meta.dirname, "..");
const exec = promisify(execFile);

/** The package as a registry would have it, installed in a project of its own. */
async function install(folder: string): Promise<string> {
  const words = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
  await exec("npm", words, { cwd: root });
  const [archive = ""] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  const modules = join(folder, "project/node_modules");
  mkdirSync(join(modules, "pilot-agent"), { recursive: true });
  await exec("tar", ["-xzf", join(folder, archive), "--strip-components=1", "-C", join(modules, "pilot-agent")]);
  for (const name of ["@types", "undici-types"]) symlinkSync(join(root, "node_modules", name), join(modules, name));
  writeFileSync(join(folder, "project/package.json"), '{"type": "module"}\n');
  return join(modules, "pilot-agent");
}

test("the package has its docs, one file of types and no source maps; README's example compiles strictly, runs and leaves nothing", async () => {
  using folder = temporaryFolder();
  const installed = await install(folder.path);
  const files = readdirSync(installed, { recursive: true, encoding: "utf8" });
  expect(files.filter((name) => name.endsWith(".map"))).toEqual([]);
  expect(files.filter((name) => name.endsWith(".d.ts"))).toEqual(["dist/index.d.ts"]);
  const readme = readFileSync(join(installed, "README.md"), "utf8");
  const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = ""]) => link);
  expect(links.filter((link) => statSync(join(installed, link), { throwIfNoEntry: false }) === undefined)).toEqual([]);

  const project = join(folder.path, "project");
  const [, example = ""] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
  writeFileSync(join(project, "example.ts"), example);
  const strict = [
    "--strict",
    "--noEmit",
    "--module",
    "nodenext",
    "--target",
    "es2023",
    "--types",
    "node",
    "example.ts",
  ];
  const compiled = await exec(join(root, "node_modules/.bin/tsc"), strict, { cwd: project }).catch((thrown) => thrown);
  expect(compiled).toMatchObject({ stdout: "" });
  const { code } = await transform(example, { loader: "ts" });
  writeFileSync(join(project, "example.mjs"), code);
  const temporary = join(folder.path, "tmp");
  mkdirSync(temporary);
  const before = readdirSync(project);
  const env = { PATH: process.env.PATH, HOME: temporary, TMPDIR: temporary };
  await exec(process.execPath, ["example.mjs"], { cwd: project, env });
  expect([readdirSync(project), readdirSync(temporary)]).toEqual([before, []]);
});
