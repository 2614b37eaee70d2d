import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringifyExactJson } from "../json/exact-json.ts";
import { parseYaml, YamlError } from "./parse-yaml.ts";

test.each([
  { text: "", gives: null },
  { text: "---\n", gives: null },
  { text: '{"a": 1}', gives: { a: 1 } },
  { text: "a: yes\nb: off\nc: Y", gives: { a: true, b: false, c: true } },
  { text: "a: 010\nb: 0x10\nc: 1_000", gives: { a: 8, b: 16, c: 1000 } },
  { text: "a: 1:30\nb: 2020-01-01\nc: 12:30:45.5", gives: { a: "1:30", b: "2020-01-01", c: "12:30:45.5" } },
  { text: "a: .\nb: [., -., +., ._]", gives: { a: ".", b: [".", "-.", "+.", "._"] } },
  { text: "a: [e1, E0, .e1, -e3, 1e3, .5e1, -1e+2]", gives: { a: ["e1", "E0", ".e1", "-e3", 1000, 5, -100] } },
  { text: "a: .5\nb: 1.\nc: -.5\nd: 1_0.5", gives: { a: 0.5, b: 1, c: -0.5, d: 10.5 } },
  { text: "a: 1\na: 2", gives: { a: 2 } },
  { text: "yes: 1\n2: b", gives: { true: 1, "2": "b" } },
  { text: "x: &x {a: 1}\nz:\n  <<: *x\n  b: 2", gives: { x: { a: 1 }, z: { a: 1, b: 2 } } },
  { text: "a: 1\n---\nb: 2", gives: { a: 1 } },
  { text: "a: ~", gives: { a: null } },
  { text: "a: 9007199254740993\nb: [1]", gives: { a: 9007199254740993n, b: [1] } },
  { text: '{"a": 9007199254740993, "b": [1]}', gives: { a: 9007199254740993n, b: [1] } },
])("$text", async ({ text, gives }) => {
  expect(await parseYaml(text)).toEqual(gives);
});

test.each([
  { text: "{", says: "yaml: line 1: did not find expected node content" },
  { text: "a: [", says: "yaml: line 1: did not find expected node content" },
  { text: "a: b: c", says: "yaml: line 1: mapping values are not allowed in this context" },
  { text: "a:\n\tb: 1", says: "yaml: line 2: found character that cannot start any token" },
  { text: "a: 'x", says: "yaml: line 1: found unexpected end of stream" },
  { text: "a: *x", says: "yaml: unknown anchor 'x' referenced" },
  { text: "a: .inf", says: "json: unsupported value: Infinity" },
])("$text is refused: $says", async ({ text, says }) => {
  await expect(parseYaml(text)).rejects.toMatchObject({ code: "invalid-yaml", message: says });
});

test("aliases that multiply are refused instead of filling the memory", async () => {
  const layers = Array.from(
    { length: 30 },
    (_, index) => `l${index + 1}: &l${index + 1} [${Array(10).fill(`*l${index}`).join(", ")}]`,
  );
  await expect(parseYaml(["l0: &l0 [x]", ...layers].join("\n"))).rejects.toThrow("excessive aliasing");
});

test("the YAML library is found in a bundle that is split into chunks, in one of its own", async () => {
  const scratch = await mkdtemp(join(tmpdir(), "yaml-bundle-"));
  try {
    await build({
      entryPoints: [join(import.meta.dirname, "parse-yaml.ts")],
      outdir: scratch,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      banner: { js: 'import{createRequire as __r}from"node:module";const require=__r(import.meta.url);' },
      logLevel: "error",
    });
    const chunks = (await readdir(scratch)).filter((name) => name.startsWith("parse-go-yaml"));
    const bundled: typeof import("./parse-yaml.ts") = await import(pathToFileURL(join(scratch, "parse-yaml.mjs")).href);
    expect(await bundled.parseYaml("a: yes")).toEqual({ a: true });
    expect(chunks).toHaveLength(1);
  } finally {
    await rm(scratch, { recursive: true });
  }
});

describe("a text that nests too deeply", () => {
  const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);

  test.each([
    { name: "JSON", text: (depth: number) => nested(depth, "[", "]") },
    { name: "JSON in an object", text: (depth: number) => `{"a":${nested(depth - 1, "[", "]")}}` },
    { name: "YAML", text: (depth: number) => `a: ${nested(depth - 1, "[", "]")}` },
  ])("is refused as $name, and taken up to there", async ({ text }) => {
    await expect(parseYaml(text(500))).resolves.toBeDefined();
    for (const depth of [600, 5000, 100_000]) {
      await expect(parseYaml(text(depth))).rejects.toMatchObject({
        code: "invalid-yaml",
        message: "yaml: nested too deeply, at most 500 levels are allowed",
      });
    }
  });
});

test("any text gives data or a YAML error", async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string(), fc.stringMatching(/^[-:{}[\]&*#|>'"a-c \n]*$/)), async (text) => {
      try {
        stringifyExactJson(await parseYaml(text));
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(YamlError);
      }
    }),
    { numRuns: 500 },
  );
});
