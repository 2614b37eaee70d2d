import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FoundDirectory, listFiles } from "./list-files.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "list-files-")));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, text = "x"): string {
  const full = join(root, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
  return full;
}

const inRoot = (path: string) => path.slice(root.length + 1);

async function list() {
  const entered: FoundDirectory[] = [];
  const listing = await listFiles(root, (directory) => void entered.push(directory));
  return {
    files: listing.files.map(({ path }) => inRoot(path)),
    entered: entered.map(({ path }) => inRoot(path)),
    listing,
  };
}

test("YAML files of all levels are found, in the order of their paths", async () => {
  for (const path of ["b.yaml", "a.yml", "sub/deep/c.yaml", "sub/b.yaml"]) put(path);
  expect((await list()).files).toEqual(["a.yml", "b.yaml", "sub/b.yaml", "sub/deep/c.yaml"]);
});

test.each(["notes.txt", "a.json", "yaml", "a.yaml.bak", "a.yaml~", ".a.yaml", ".git/a.yaml", "..data/a.yaml"])(
  "%s is passed over",
  async (path) => {
    put(path);
    expect((await list()).files).toEqual([]);
  },
);

test("a Kubernetes volume is read once, through its links", async () => {
  put("..2026_01/mesh.yaml");
  symlinkSync("..2026_01", join(root, "..data"));
  symlinkSync(join("..data", "mesh.yaml"), join(root, "mesh.yaml"));
  const { files, listing } = await list();
  expect(files).toEqual(["mesh.yaml"]);
  expect(listing.files[0]?.size).toBe(1);
});

test("links to directories are followed, and those that lead back end the search", async () => {
  put("a/one.yaml");
  symlinkSync(root, join(root, "a", "back"));
  symlinkSync(join(root, "a"), join(root, "b"));
  const { files, entered } = await list();
  expect(files).toEqual(["a/one.yaml"]);
  expect(entered).toEqual(["", "a"]);
});

test("a link to nothing is not a problem, links in a circle are one", async () => {
  symlinkSync("nowhere", join(root, "later.yaml"));
  symlinkSync("two.yaml", join(root, "one.yaml"));
  symlinkSync("one.yaml", join(root, "two.yaml"));
  const { files, listing } = await list();
  expect(files).toEqual([]);
  expect(listing.problems).toEqual([
    { path: join(root, "one.yaml"), message: expect.stringContaining("ELOOP") },
    { path: join(root, "two.yaml"), message: expect.stringContaining("ELOOP") },
  ]);
});

test("a directory called like a file is a directory", async () => {
  put("rules.yaml/a.yaml");
  expect((await list()).files).toEqual(["rules.yaml/a.yaml"]);
});

test("a directory is reported before it is read, so that nothing slips between", async () => {
  mkdirSync(join(root, "sub"));
  const listing = await listFiles(root, ({ path }) => {
    if (path === join(root, "sub")) put("sub/late.yaml");
  });
  expect(listing.files.map(({ path }) => inRoot(path))).toEqual(["sub/late.yaml"]);
});

test("a directory that is not there is an error", async () => {
  await expect(listFiles(join(root, "missing"), () => undefined)).rejects.toMatchObject({ code: "ENOENT" });
});

test("a file that was written or replaced has another signature, one that was looked at has the same", async () => {
  const path = put("a.yaml", "one");
  const signature = async () => (await list()).listing.files[0]?.signature;
  const first = await signature();
  expect(await signature()).toBe(first);
  utimesSync(path, new Date(), new Date(Date.now() + 5000));
  const touched = await signature();
  expect(touched).not.toBe(first);
  renameSync(put("new", "two"), path);
  expect(await signature()).not.toBe(touched);
});

test("a large directory is listed in the order of its names, its directories in between", async () => {
  const names = Array.from({ length: 300 }, (_, i) => `${String(i).padStart(3, "0")}`);
  const paths = names.map((name, i) => put(i % 50 === 7 ? `${name}/in.yaml` : `${name}.yaml`));
  expect((await listFiles(root, () => undefined)).files.map(({ path }) => path)).toEqual(paths);
});

test("a directory that is a file by the time it is entered is gone, which is not a problem", async () => {
  put("a/one.yaml");
  put("b/two.yaml");
  const listing = await listFiles(root, ({ path }) => {
    if (path !== join(root, "a")) return;
    rmSync(join(root, "b"), { recursive: true });
    put("b");
  });
  expect(listing.files.map(({ path }) => inRoot(path))).toEqual(["a/one.yaml"]);
  expect(listing.problems).toEqual([]);
});
