import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeDirectory } from "./make-directory.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "make-directory-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("it resolves to the first directory that was made, by its absolute path", async () => {
  const path = join(folder, "a/b/c");
  expect(await makeDirectory(relative(process.cwd(), path), 0o700)).toBe(join(folder, "a"));
  expect(statSync(path).mode & 0o777).toBe(0o700);
  expect(await makeDirectory(join(folder, "a/b/d"))).toBe(join(folder, "a/b/d"));
});

test("what is there already is left alone, also behind a link", async () => {
  mkdirSync(join(folder, "there"), { mode: 0o755 });
  symlinkSync("there", join(folder, "link"));
  for (const name of ["there", "link"]) expect(await makeDirectory(join(folder, name), 0o700)).toBeUndefined();
  expect(statSync(join(folder, "there")).mode & 0o777).toBe(0o755);
});

test.each([{ path: "file" }, { path: "file/below" }])("a file in the way ($path) is an error", async ({ path }) => {
  writeFileSync(join(folder, "file"), "");
  await expect(makeDirectory(join(folder, path))).rejects.toMatchObject({
    code: expect.stringMatching(/^(EEXIST|ENOTDIR)$/),
  });
});

test.each([{ path: "/proc/nothing" }, { path: "/proc/nothing/below/it" }])(
  "where nothing can be made ($path) it fails instead of trying for ever",
  async ({ path }) => {
    await expect(makeDirectory(path)).rejects.toMatchObject({ code: "ENOENT" });
    expect(existsSync(path)).toBe(false);
  },
);

test("several at once for the same path all succeed", async () => {
  const path = join(folder, "x/y/z");
  const made = await Promise.all(Array.from({ length: 20 }, () => makeDirectory(path)));
  expect(made.filter((first) => first === join(folder, "x"))).toHaveLength(1);
  expect(statSync(path).isDirectory()).toBe(true);
});
