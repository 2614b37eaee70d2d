import { execFileSync } from "node:child_process";
import { mkdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { isMissing, readCertificateFile } from "./read-file.ts";

test("a regular file is read", async () => {
  await using directory = temporaryFolder();
  await writeFile(join(directory.path, "f"), "content");
  await expect(readCertificateFile(join(directory.path, "f"))).resolves.toEqual(Buffer.from("content"));
});

test("what is no regular file is refused at once, in the words of Go", async () => {
  await using directory = temporaryFolder();
  const at = (name: string) => join(directory.path, name);
  await mkdir(at("d"));
  execFileSync("mkfifo", [at("pipe")]);
  await writeFile(at("large"), "");
  await truncate(at("large"), 1e9);
  const message = (name: string) => readCertificateFile(at(name)).catch((thrown: Error) => thrown.message);
  await expect(message("d")).resolves.toBe(`read ${at("d")}: is a directory`);
  await expect(message("pipe")).resolves.toBe(`read ${at("pipe")}: not a regular file`);
  await expect(message("large")).resolves.toContain("larger than");
  await expect(message("gone")).resolves.toBe(`open ${at("gone")}: no such file or directory`);
  await expect(message("large/x")).resolves.toBe(`open ${at("large/x")}: not a directory`);
});

test("missing is told apart from unreadable", async () => {
  await using directory = temporaryFolder();
  const failure = (path: string) => readCertificateFile(path).catch((thrown: unknown) => thrown);
  expect(isMissing(await failure(join(directory.path, "gone")))).toBe(true);
  expect(isMissing(await failure(directory.path))).toBe(false);
  expect(isMissing(new Error("other"))).toBe(false);
});
