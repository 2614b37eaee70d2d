import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createConfigFiles } from "./config-files.ts";

let folder: string;
let target: string;
let rules: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mesh-config-"));
  [target, rules] = [join(folder, "target"), join(folder, "rules")];
  mkdirSync(rules);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const validate = (text: string) => (text.includes("bad") ? [{ line: 2, column: 3, text: "is bad" }] : []);
const copy = (name: string) => readFileSync(join(target, "30-rules", name), "utf8");
const put = (name: string, text: string) => writeFileSync(join(rules, name), text);

const mesh = () => ({ namespace: "shop", services: [] });

test("a folder is copied, deeper files included, and follows changes and removals", () => {
  const files = createConfigFiles({ target, validate, mesh, settledMs: 0 });
  mkdirSync(join(rules, "deep"));
  put("a.yaml", "one");
  put("deep/b.yml", "two");
  put("notes.txt", "not copied");
  put(".hidden.yaml", "not copied");
  expect(files.mirror(rules)).toEqual([]);
  expect(readdirSync(join(target, "30-rules")).sort()).toEqual(["a.yaml", "deep"]);
  put("a.yaml", "one, changed");
  rmSync(join(rules, "deep"), { recursive: true });
  expect(files.mirror(rules)).toEqual([]);
  expect(copy("a.yaml")).toBe("one, changed");
  expect(existsSync(join(target, "30-rules/deep/b.yml"))).toBe(false);
});

test("a folder that is called like a file is gone into, and is not a problem itself", () => {
  const files = createConfigFiles({ target, validate, mesh, settledMs: 0 });
  mkdirSync(join(rules, "deep.yaml"));
  put("deep.yaml/a.yaml", "one");
  expect(files.mirror(rules)).toEqual([]);
  expect(copy("deep.yaml/a.yaml")).toBe("one");
});

test("another folder takes the place of the first, and without one nothing stays", () => {
  const files = createConfigFiles({ target, validate, mesh, settledMs: 0 });
  const others = join(folder, "others");
  mkdirSync(others);
  put("a.yaml", "one");
  writeFileSync(join(others, "b.yaml"), "two");
  files.mirror(rules);
  expect(files.mirror(others)).toEqual([]);
  expect(readdirSync(join(target, "30-rules"))).toEqual(["b.yaml"]);
  // The user's own files are never removed.
  expect([existsSync(join(rules, "a.yaml")), existsSync(join(others, "b.yaml"))]).toEqual([true, true]);
  expect(files.mirror(undefined)).toEqual([]);
  expect(existsSync(join(target, "30-rules"))).toBe(false);
});

test("a file that only its owner may read is copied for its owner alone", () => {
  const files = createConfigFiles({ target, validate, mesh, settledMs: 0 });
  put("secret.yaml", "good");
  chmodSync(join(rules, "secret.yaml"), 0o600);
  files.mirror(rules);
  expect(statSync(join(target, "30-rules", "secret.yaml")).mode & 0o777).toBe(0o600);
});

test("objects of a mesh file are checked without being written", () => {
  const files = createConfigFiles({ target, validate, mesh, settledMs: 0 });
  expect(files.checkInline([{ value: { kind: "bad" }, line: 7 }], "mesh.yaml")).toEqual(["mesh.yaml:7: is bad"]);
  expect(files.checkInline([{ value: { kind: "good" }, line: 7 }], "mesh.yaml")).toEqual([]);
  expect(existsSync(join(target, "20-inline.yaml"))).toBe(false);
});

test("a file that becomes broken keeps its last good copy and is reported until it is mended", () => {
  const files = createConfigFiles({ target, validate, mesh, settledMs: 0 });
  put("a.yaml", "good");
  files.mirror(rules);
  put("a.yaml", "bad now");
  const notices = [`${join(rules, "a.yaml")}:2:3: is bad`];
  expect(files.mirror(rules)).toEqual(notices);
  expect(files.mirror(rules)).toEqual(notices);
  expect(copy("a.yaml")).toBe("good");
  put("a.yaml", "good again");
  expect(files.mirror(rules)).toEqual([]);
  expect(copy("a.yaml")).toBe("good again");
});

test("a folder that is not there is a problem, and what was copied stays", () => {
  const files = createConfigFiles({ target, validate, mesh, settledMs: 0 });
  put("a.yaml", "good");
  files.mirror(rules);
  rmSync(rules, { recursive: true });
  expect(files.mirror(rules)).toEqual([expect.stringContaining("configDir cannot be read: ENOENT")]);
  expect(copy("a.yaml")).toBe("good");
});

test("objects of the mesh file are refused together, with the line they stand at", () => {
  const files = createConfigFiles({ target, validate, mesh, settledMs: 0 });
  expect(files.writeInline([{ value: { kind: "A" }, line: 7 }], "mesh.yaml")).toEqual([]);
  const problems = files.writeInline(
    [
      { value: { kind: "B" }, line: 7 },
      { value: { kind: "bad" }, line: 9 },
    ],
    "mesh.yaml",
  );
  expect(problems).toEqual(["mesh.yaml:9: is bad"]);
  expect(readFileSync(join(target, "20-inline.yaml"), "utf8")).toContain('"A"');
});

test("a file that was changed a moment ago is left alone until it has settled", () => {
  const files = createConfigFiles({ target, validate, mesh });
  put("a.yaml", "first, as it is found at the start");
  files.mirror(rules);
  expect(copy("a.yaml")).toContain("first");
  put("a.yaml", "");
  files.mirror(rules);
  expect(copy("a.yaml")).toContain("first");
  const then = new Date(Date.now() - 1000);
  put("a.yaml", "second");
  utimesSync(join(rules, "a.yaml"), then, then);
  files.mirror(rules);
  expect(copy("a.yaml")).toBe("second");
});
