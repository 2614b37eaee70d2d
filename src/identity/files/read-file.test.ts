import { truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { isMissing, readCertificateFile } from "./read-file.ts";

const failure = (path: string) => readCertificateFile(path).catch((thrown: unknown) => thrown);

test("a file larger than any certificate bundle is refused", async () => {
  await using directory = temporaryFolder();
  const path = join(directory.path, "large");
  await writeFile(path, "");
  await truncate(path, 4 * 1024 * 1024 + 1);
  expect(await failure(path)).toMatchObject({ code: "bad-file", message: `read ${path}: larger than 4194304 bytes` });
});

test("a missing file is distinguished from an unreadable one", async () => {
  await using directory = temporaryFolder();
  expect(isMissing(await failure(join(directory.path, "gone")))).toBe(true);
  expect(isMissing(await failure(directory.path))).toBe(false);
  expect(isMissing(new Error("other"))).toBe(false);
});
