import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFileOnce, replaceFile, replaceFileSync } from "./replace-file.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "replace-file-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const at = (name: string) => join(folder, name);
const WAYS = [
  { way: "at once", data: "new", write: replaceFile },
  {
    way: "synchronously",
    data: "new",
    write: async (...args: Parameters<typeof replaceFileSync>) => replaceFileSync(...args),
  },
  { way: "on the side", data: "n".repeat(300_000), write: replaceFile },
  {
    way: "durably",
    data: "new",
    write: (path: string, data: string, options: { mode: number }) =>
      replaceFile(path, data, { ...options, durable: true }),
  },
];

test.each(WAYS)("a file written $way has the new content and exactly the given mode", async ({ data, write }) => {
  const before = process.umask(0o077);
  try {
    writeFileSync(at("file"), "old");
    await write(at("file"), data, { mode: 0o644 });
  } finally {
    process.umask(before);
  }
  expect(readFileSync(at("file"), "utf8")).toBe(data);
  expect(statSync(at("file")).mode & 0o777).toBe(0o644);
  expect(readdirSync(folder)).toEqual(["file"]);
});

test.each(WAYS)("what cannot be replaced $way stays, and nothing is left beside it", async ({ data, write }) => {
  await expect(async () => write(at("missing/file"), data, { mode: 0o600 })).rejects.toMatchObject({ code: "ENOENT" });
  await expect(async () => write(folder, data, { mode: 0o600 })).rejects.toThrow();
  expect(readdirSync(folder)).toEqual(["file"]);
});

test("of many that create one file, one wins, and its content is whole", async () => {
  const contents = Array.from({ length: 8 }, (_, index) => String(index).repeat(10_000));
  const won = await Promise.all(
    contents.map((content) => createFileOnce(at("once"), content, { mode: 0o600, durable: true })),
  );
  expect(won.filter(Boolean)).toHaveLength(1);
  expect(readFileSync(at("once"), "utf8")).toBe(contents[won.indexOf(true)]);
  rmSync(at("once"));
  expect(readdirSync(folder)).toEqual(["file"]);
});
