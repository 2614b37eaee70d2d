import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { identityOf, watchPlan } from "./watch-plan.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "watch-plan-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (...parts: readonly string[]) => join(folder, ...parts);

/** What is watched below the test's folder: the entries of each directory, or "file". */
function planOf(...paths: readonly string[]): Record<string, readonly string[] | "file"> {
  const plan: Record<string, readonly string[] | "file"> = {};
  for (const [path, { entries }] of watchPlan(paths)) {
    if (!path.startsWith(folder)) continue;
    plan[path.slice(folder.length) || "/"] = entries === undefined ? "file" : [...entries].sort();
  }
  return plan;
}

test("a file is watched itself and in its directory", () => {
  writeFileSync(at("cert.pem"), "x");
  expect(planOf(at("cert.pem"))).toEqual({ "/": ["cert.pem"], "/cert.pem": "file" });
});

test("files of one directory share its watch", () => {
  for (const name of ["cert.pem", "key.pem"]) writeFileSync(at(name), "x");
  expect(planOf(at("cert.pem"), at("key.pem"), at("cert.pem"))).toEqual({
    "/": ["cert.pem", "key.pem"],
    "/cert.pem": "file",
    "/key.pem": "file",
  });
});

test("every directory on the way is watched for the next one", () => {
  mkdirSync(at("a", "b"), { recursive: true });
  writeFileSync(at("a", "b", "c"), "x");
  expect(planOf(at("a", "b", "c"))).toEqual({ "/": ["a"], "/a": ["b"], "/a/b": ["c"], "/a/b/c": "file" });
  const [root] = watchPlan([at("a", "b", "c")]).keys();
  expect(root).toBe("/");
  expect(watchPlan([at("a")]).get(dirname(folder))?.entries).toEqual(new Set([basename(folder)]));
});

test("of a directory every entry counts, also when another path leads through it", () => {
  mkdirSync(at("a"));
  writeFileSync(at("a", "b"), "x");
  const expected = { "/": ["a"], "/a": "file", "/a/b": "file" };
  expect(planOf(at("a"), at("a", "b"))).toEqual(expected);
  expect(planOf(at("a", "b"), at("a"))).toEqual(expected);
});

test("where the way ends early, the last directory waits for the missing entry", () => {
  mkdirSync(at("a"));
  expect(planOf(at("a", "missing", "deeper", "file"))).toEqual({ "/": ["a"], "/a": ["missing"] });
});

test("a file in the middle of the way is not walked through", () => {
  writeFileSync(at("a"), "x");
  expect(planOf(at("a", "b"))).toMatchObject({ "/": expect.arrayContaining(["a"]), "/a": "file" });
});

test("a mounted secret is watched through both of its links", () => {
  mkdirSync(at("..2026"));
  writeFileSync(at("..2026", "tls.crt"), "x");
  symlinkSync("..2026", at("..data"));
  symlinkSync(join("..data", "tls.crt"), at("tls.crt"));
  expect(planOf(at("tls.crt"))).toEqual({
    "/": ["..2026", "..data", "tls.crt"],
    "/..2026": ["tls.crt"],
    "/..2026/tls.crt": "file",
  });
});

test("an absolute link leads to another part of the tree", () => {
  mkdirSync(at("real"));
  writeFileSync(at("real", "file"), "x");
  mkdirSync(at("links"));
  symlinkSync(at("real"), at("links", "folder"));
  expect(planOf(at("links", "folder", "file"))).toEqual({
    "/": ["links", "real"],
    "/links": ["folder"],
    "/real": ["file"],
    "/real/file": "file",
  });
});

test("a link to nothing waits for its target", () => {
  symlinkSync("later", at("link"));
  expect(planOf(at("link"))).toEqual({ "/": ["later", "link"] });
});

test("links that lead to each other end the search", () => {
  symlinkSync("two", at("one"));
  symlinkSync("one", at("two"));
  expect(planOf(at("one", "file"))).toEqual({ "/": ["one", "two"] });
});

test.each(["some-file", "./some-file", "no-such-folder/../some-file"])(
  "nothing above the working directory is watched for %s, which no rename up there can change",
  (path) => {
    expect([...watchPlan([path]).keys()]).toEqual([process.cwd()]);
  },
);

test.each([
  { target: "../real/file", is: "up and down" },
  { target: "./../real/./file", is: "with dots" },
])("a relative link is followed from its directory, $is", ({ target }) => {
  mkdirSync(at("real"));
  writeFileSync(at("real", "file"), "x");
  mkdirSync(at("links"));
  symlinkSync(target, at("links", "file"));
  expect(planOf(at("links", "file"))).toEqual({
    "/": ["links", "real"],
    "/links": ["file"],
    "/real": ["file"],
    "/real/file": "file",
  });
});

test("a link that goes up from where another link led goes up from there", () => {
  mkdirSync(at("far", "real"), { recursive: true });
  mkdirSync(at("near"));
  writeFileSync(at("far", "file"), "x");
  symlinkSync(at("far", "real"), at("near", "folder"));
  symlinkSync("folder/../file", at("near", "file"));
  expect(planOf(at("near", "file"))).toMatchObject({ "/near": ["file", "folder"], "/far": ["file", "real"] });
});

test("a directory that was replaced has another identity, one that was renamed keeps it", () => {
  mkdirSync(at("a"));
  const before = identityOf(at("a"));
  expect(watchPlan([at("a", "x")]).get(at("a"))?.identity).toBe(before);
  renameSync(at("a"), at("old"));
  mkdirSync(at("a"));
  expect(identityOf(at("old"))).toBe(before);
  expect(watchPlan([at("a", "x")]).get(at("a"))?.identity).not.toBe(before);
  expect(identityOf(at("missing"))).toBeUndefined();
});
