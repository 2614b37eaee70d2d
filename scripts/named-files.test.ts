import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LONGEST } from "../test/support/longest-first.ts";

const root = join(import.meta.dirname, "..");
const files = ["src", "web", "test", "e2e", "bench", "scripts", "image", "docs"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => `${folder}/${path}`),
);
const documents = files.filter((path) => path.endsWith(".md"));
const architecture = readFileSync(join(root, "docs/architecture.md"), "utf8");
const NAMED = /`([\w./-]+\.tsx?)`/g;
/** Names with a part that stands for any. */
const isPattern = (name: string) => /NAME/.test(name);

test.each(documents)("%s names source files that exist", (path) => {
  const named = [...readFileSync(join(root, path), "utf8").matchAll(NAMED)].map(([, name = ""]) => name);
  const gone = named.filter((name) => !isPattern(name) && !files.some((file) => `/${file}`.endsWith(`/${name}`)));
  expect(gone).toEqual([]);
});

test.each(LONGEST)("%s, which starts first, is a test file", (name) => {
  expect(files.filter((file) => file.includes(`/${name}`) || file.startsWith(name))).toHaveLength(1);
});

const FLOOR = /^src\/(base|net|files|process|protocol|protobuf|grpc|template)\//;
const [, walks = ""] = architecture.split("## Walks");
const WALKS = walks.split(/\n- \*\*/).slice(1);

test.each([
  { walk: "Rule change", most: 70 },
  { walk: "xDS response", most: 12 },
])("the walk of a $walk has at most $most files, as many as it says", ({ walk, most }) => {
  const text = WALKS.find((one) => one.startsWith(walk)) ?? "";
  const said = Number(/(\d+) files/.exec(text)?.[1]);
  const named = new Set([...text.matchAll(NAMED)].map(([, name = ""]) => name));
  const ofFloor = (name: string) => files.some((file) => FLOOR.test(file) && file.endsWith(`/${name}`));
  const counted = [...named].filter((name) => !text.includes("above the floor") || !ofFloor(name));
  expect(counted).toHaveLength(said);
  expect(said).toBeLessThanOrEqual(most);
});
