import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { needs } from "../../test/support/needs.ts";
import { makeProxyDirectory, writeProxyFile } from "./proxy-file.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "proxy-file-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

test.each([
  { access: "private" as const, mode: 0o600 },
  { access: "shared" as const, mode: 0o644 },
])("a $access file has mode $mode whatever the umask", async ({ access, mode }) => {
  const before = process.umask(0o077);
  try {
    await writeProxyFile(join(dir, "f"), "text", { access });
  } finally {
    process.umask(before);
  }
  expect(await modeOf(join(dir, "f"))).toBe(mode);
});

test("an existing file is replaced, mode included, and nothing temporary stays", async () => {
  await writeFile(join(dir, "f"), "old", { mode: 0o666 });
  await writeProxyFile(join(dir, "f"), Buffer.from("new"), { access: "private" });
  expect(await readFile(join(dir, "f"), "utf8")).toBe("new");
  expect(await modeOf(join(dir, "f"))).toBe(0o600);
  expect(await readdir(dir)).toEqual(["f"]);
});

test("a large file is written on the side, with the same promises", async () => {
  const large = Buffer.alloc(8 * 1024 * 1024, "large");
  const writing = writeProxyFile(join(dir, "f"), large, { access: "private" });
  expect(existsSync(join(dir, "f"))).toBe(false);
  await writing;
  expect((await readFile(join(dir, "f"))).equals(large)).toBe(true);
  expect(await modeOf(join(dir, "f"))).toBe(0o600);
  expect(await readdir(dir)).toEqual(["f"]);
  await mkdir(join(dir, "taken"));
  await expect(writeProxyFile(join(dir, "taken"), large, { access: "private" })).rejects.toMatchObject({
    code: "EISDIR",
  });
  expect(await readdir(dir)).toEqual(["f", "taken"]);
});

test("a failing write leaves the old content and no temporary file", async () => {
  await makeProxyDirectory(join(dir, "taken"), { access: "shared" });
  await writeFile(join(dir, "taken/inner"), "");
  await expect(writeProxyFile(join(dir, "taken"), "x", { access: "private" })).rejects.toMatchObject({
    code: "EISDIR",
  });
  expect(await readdir(dir)).toEqual(["taken"]);
});

test.each([
  { access: "private" as const, mode: 0o700 },
  { access: "shared" as const, mode: 0o755 },
])("every directory made on the way is $access", async ({ access, mode }) => {
  await makeProxyDirectory(join(dir, "a/b/c"), { access });
  expect([await modeOf(join(dir, "a")), await modeOf(join(dir, "a/b")), await modeOf(join(dir, "a/b/c"))]).toEqual([
    mode,
    mode,
    mode,
  ]);
});

test("a directory that exists keeps its mode", async () => {
  await chmod(dir, 0o711);
  await makeProxyDirectory(dir, { access: "private" });
  expect(await modeOf(dir)).toBe(0o711);
});

test("concurrent writers leave one whole file", async () => {
  const contents = Array.from({ length: 20 }, (_, index) => String(index).repeat(50_000));
  await Promise.all(contents.map((content) => writeProxyFile(join(dir, "f"), content, { access: "private" })));
  expect(contents).toContain(await readFile(join(dir, "f"), "utf8"));
  expect(await readdir(dir)).toEqual(["f"]);
});

describe("with an owner", () => {
  beforeEach(needs("root"));

  test("files and directories are handed over", async () => {
    const owner = { uid: 1337, gid: 1337 };
    await makeProxyDirectory(join(dir, "a/b"), { access: "private", owner });
    await writeProxyFile(join(dir, "a/b/f"), "x", { access: "private", owner });
    for (const path of ["a", "a/b", "a/b/f"]) {
      expect(await stat(join(dir, path))).toMatchObject({ uid: 1337, gid: 1337 });
    }
  });
});
