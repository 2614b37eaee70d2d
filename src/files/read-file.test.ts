import { execFileSync, spawn } from "node:child_process";
import { mkdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/files/temporary-folder.ts";
import { fileErrorText, isMissingFile, readFileLimited, readTextLimited } from "./read-file.ts";
import { readInputSync, readTextLimitedSync } from "./read-file-sync.ts";

const READERS = [
  { name: "readTextLimited", read: readTextLimited },
  { name: "readTextLimitedSync", read: async (path: string, max?: number) => readTextLimitedSync(path, max) },
  { name: "readInputSync", read: async (path: string, max?: number) => readInputSync(path, max) },
];

test.each(READERS)("$name: a file up to the limit is read, one byte more is refused", async ({ read }) => {
  await using directory = temporaryFolder();
  const path = join(directory.path, "f");
  for (const size of [0, 1, 5000]) {
    await writeFile(path, "x".repeat(size));
    expect(await read(path, size)).toBe("x".repeat(size));
  }
  await expect(read(path, 4999)).rejects.toMatchObject({
    code: "too-large",
    message: `read ${path}: larger than 4999 bytes`,
  });
});

test.each(READERS)("$name: a directory is refused, a missing file is the system's error", async ({ read }) => {
  await using directory = temporaryFolder();
  await expect(read(directory.path)).rejects.toMatchObject({
    code: "EISDIR",
    message: `read ${directory.path}: is a directory`,
  });
  await expect(read(join(directory.path, "gone"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("files whose size the system does not say are read to their end, up to the limit", async () => {
  expect(await readTextLimited("/proc/self/mountinfo")).toContain(" / ");
  expect(readTextLimitedSync("/proc/self/mountinfo")).toContain(" / ");
  await expect(readTextLimited("/proc/self/mountinfo", 10)).rejects.toMatchObject({ code: "too-large" });
});

test("a named pipe is refused at once, also without a writer; the null device is an empty file", async () => {
  await using directory = temporaryFolder();
  const pipe = join(directory.path, "pipe");
  execFileSync("mkfifo", [pipe]);
  await expect(readTextLimited(pipe)).rejects.toMatchObject({ code: "not-regular" });
  expect(() => readTextLimitedSync(pipe)).toThrow(`read ${pipe}: not a regular file`);
  expect(await readTextLimited("/dev/null")).toBe("");
});

test("what a user names at the terminal may be a pipe", async () => {
  await using directory = temporaryFolder();
  const pipe = join(directory.path, "pipe");
  execFileSync("mkfifo", [pipe]);
  const writer = spawn("sh", ["-c", 'printf "from a pipe" >"$0"', pipe]);
  const ended = new Promise((resolve) => writer.on("close", resolve));
  expect(readInputSync(pipe)).toBe("from a pipe");
  await ended;
});

test("failures are described in the words of Go; a missing file differs from an unreadable one", async () => {
  await using directory = temporaryFolder();
  const at = (name: string) => join(directory.path, name);
  await mkdir(at("d"));
  await writeFile(at("large"), "");
  await truncate(at("large"), 1e9);
  const failure = (name: string) => readFileLimited(at(name)).catch((thrown: unknown) => thrown);
  const text = async (name: string) => fileErrorText(at(name), await failure(name));
  await expect(text("gone")).resolves.toBe(`open ${at("gone")}: no such file or directory`);
  await expect(text("large/x")).resolves.toBe(`open ${at("large/x")}: not a directory`);
  await expect(text("d")).resolves.toBe(`read ${at("d")}: is a directory`);
  expect(isMissingFile(await failure("gone"))).toBe(true);
  expect(isMissingFile(await failure("large/x"))).toBe(true);
  expect(isMissingFile(await failure("large"))).toBe(false);
});
