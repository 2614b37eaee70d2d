import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { BELOW_SQUARE, growthFactor } from "../../../test/support/growth-factor.ts";
import { composeYaml } from "./compose-yaml.ts";
import { locateYaml } from "./locate-yaml.ts";
import { readPlainYaml } from "./read-plain-yaml.ts";
import { splitDocuments } from "./split-documents.ts";
import { STRICT_YAML } from "./yaml-profiles.ts";

const PLAIN = `---
# A rule.
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata:
  name: api
  annotations:
    example.com/owner: "team: a"
spec:
  hosts:
  - api.example.com
  exportTo: ["*", "."]
  ports:
    - number: 443 # as agreed
      name: https
      tls: {}
  resolution:
  isDefault: false
  weight: 0.5
  timeout: 10s
  8080: '#'
`;

test("an ordinary document is read without the library", () => {
  expect(readPlainYaml(PLAIN)?.data).toEqual({
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { name: "api", annotations: { "example.com/owner": "team: a" } },
    spec: {
      hosts: ["api.example.com"],
      exportTo: ["*", "."],
      ports: [{ number: 443, name: "https", tls: {} }],
      resolution: null,
      isDefault: false,
      weight: 0.5,
      timeout: "10s",
      "8080": "#",
    },
  });
});

test.each([
  { name: "text over lines", text: "a: b\n  c" },
  { name: "folded text", text: "a: >\n  b\n" },
  { name: "literal text that ends without a line break", text: "a: |\n  b" },
  { name: "literal text with its indentation", text: "a: |2\n  b\n" },
  { name: "literal text of nothing", text: "a: |\n\nb: 1\n" },
  { name: "an anchor", text: "a: &b c" },
  { name: "a tag", text: "a: !!str 1" },
  { name: "a merge", text: "<<: b" },
  { name: "an escape", text: 'a: "\\n"' },
  { name: "a number of another base", text: "a: 0x10" },
  { name: "equal keys", text: "a: 1\na: 2" },
  { name: "a key that is no text", text: "true: 1" },
  { name: "a member of every object", text: "__proto__: 1" },
  { name: "a tab", text: "a:\n\t- b" },
  { name: "a column of no block", text: "a:\n    b: 1\n  c: 2" },
  { name: "a second document", text: "a: 1\n---\nb: 1" },
  { name: "a value that looks like a key", text: "a: b: c" },
  { name: "blank text", text: "# nothing" },
])("$name is left to the library", ({ text }) => {
  expect(readPlainYaml(text)).toBeUndefined();
});

/** Pieces of lines: what is plain, what is nearly plain, and what only looks like it. */
const PIECES = [
  ..."a b a: b: 1: - ? # : , [ ] { } [] {} '' \"\" 'x' \"y\" ' \" | > & * ! % @ ~ . .. ... --- -- -1 +1 007 0 1 12".split(
    " ",
  ),
  ...'1.5 1. .5 1e3 .e1 0x1F 0o17 0b1 .inf -.Inf .NaN null Null true FALSE yes 1_000 10.0.0.1 5s << <<: "a":'.split(
    " ",
  ),
  ..."http://x/y a#b $x (x) ^x ;x /x x/y.z: x-y: _a: a:b".split(" "),
  '["a", "b"]',
  '["a","b" ]',
  "[a, b]",
  "{a: b}",
  " #c",
];

const piece = fc.constantFrom(...PIECES);
const anyLine = fc
  .tuple(fc.integer({ min: 0, max: 4 }), fc.array(piece, { maxLength: 4 }), fc.constantFrom("", " "))
  .map(([indent, pieces, end]) => " ".repeat(indent) + pieces.join(" ") + end);
/** Most of these are as a document has them. */
const usualLine = fc
  .tuple(fc.constantFrom("", "  ", "- ", "  - ", "    "), fc.constantFrom("a: ", "b: ", "c:", "d.e/f: ", ""), piece)
  .map(([start, key, value]) => start + key + value);
const line = fc.oneof({ weight: 1, arbitrary: anyLine }, { weight: 4, arbitrary: usualLine });

test("what is read is what the library reads", () => {
  let plain = 0;
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 5 }), (lines) => {
      plain += isAsTheLibrarySays(lines.join("\n")) ? 1 : 0;
    }),
    { numRuns: 10_000 },
  );
  expect(plain).toBeGreaterThan(100);
});

const FLOW = [
  ...'{ } [ ] , a b: c: : ? # & * ! ~ 1 1.5 007 0x1 1e3 -1 .5 true Null \'x\' "y" "\\n" 5s *.a a.b/c a:b --- - __proto__:'.split(
    " ",
  ),
];
const flow: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    { weight: 3, arbitrary: fc.constantFrom("a", "*.b", "1", "true", "'x'", '"y"', "5s", "0x1", "{}", "[]", "~", "") },
    fc.array(tie("value"), { maxLength: 3 }).map((items) => `[${items.join(", ")}]`),
    fc
      .array(fc.tuple(fc.constantFrom("a: ", "b: ", "c:", "true: "), tie("value")), { maxLength: 3 })
      .map((members) => `{ ${members.map((member) => member.join("")).join(",")} }`),
    fc.array(fc.constantFrom(...FLOW), { maxLength: 5 }).map((pieces) => `{${pieces.join(" ")}}`),
  ),
})).value;

test("collections on one line are what the library reads", () => {
  let plain = 0;
  fc.assert(
    fc.property(
      flow,
      fc.constantFrom("a: ", "a:\n- ", "a:\n  b: "),
      fc.constantFrom("", " # c", "\nd: 1"),
      (text, start, end) => {
        plain += isAsTheLibrarySays(start + text + end) ? 1 : 0;
      },
    ),
    { numRuns: 10_000 },
  );
  expect(plain).toBeGreaterThan(1000);
  const usual = 'metadata: { name: web, labels: { app: web }, ports: [80, 443], hosts: ["*.a", b.c] }';
  expect(readPlainYaml(usual)?.data).toEqual({
    metadata: { name: "web", labels: { app: "web" }, ports: [80, 443], hosts: ["*.a", "b.c"] },
  });
});

test("the documents of this repository are read as the library reads them", () => {
  const root = join(import.meta.dirname, "../../..");
  const files = ["deploy", "docs", "test", "e2e", "bench"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.ya?ml$/.test(name))
      .map((name) => join(root, folder, name)),
  );
  const texts = files.flatMap((file) => splitDocuments(readFileSync(file, "utf8")).map(({ text }) => text));
  expect(texts.filter(isAsTheLibrarySays).length).toBeGreaterThan(0);
});

const literalLine = fc
  .tuple(fc.constantFrom("", " ", "  ", "   ", "    "), fc.constantFrom("", "", "x", "# x", "a: b", "- c", "|", "{"))
  .map(([indent, content]) => indent + content);

test("literal text is what the library reads", () => {
  let plain = 0;
  fc.assert(
    fc.property(
      fc.constantFrom("a: ", "a:\n- ", "a:\n  - b: ", "a:\n  b: "),
      fc.constantFrom("|", "|-", "|+", "| "),
      fc.array(literalLine, { minLength: 1, maxLength: 6 }),
      fc.constantFrom("", "\n", "\nd: 1", "\n# c\nd: 1\n"),
      (start, header, lines, end) => {
        plain += isAsTheLibrarySays(`${start}${header}\n${lines.join("\n")}${end}`) ? 1 : 0;
      },
    ),
    { numRuns: 10_000 },
  );
  expect(plain).toBeGreaterThan(500);
  const usual = "a:\n  b: |\n    {}\n\n    # x\n  c: |-\n    y\n    z\n\nd: 1\n";
  expect(readPlainYaml(usual)?.data).toEqual({ a: { b: "{}\n\n# x\n", c: "y\nz" }, d: 1 });
});

test("a list of ten thousand objects is read without the library", () => {
  const items = Array.from({ length: 10_000 }, (_, at) => `- kind: Service\n  metadata:\n    name: service-${at}\n`);
  expect(readPlainYaml(`kind: List\nitems:\n${items.join("")}`)?.data).toMatchObject({ items: { length: 10_000 } });
});

/** False where the text is left to the library. Members stand where the library finds them. */
function isAsTheLibrarySays(text: string): boolean {
  const read = readPlainYaml(text);
  if (read === undefined) return false;
  expectSamePlaces(text, read.data);
  const composed = composeYaml(text, STRICT_YAML);
  if ("problem" in composed) throw new Error(`${JSON.stringify(text)} is refused: ${composed.problem.message}`);
  expect(read.data, JSON.stringify(text)).toStrictEqual(composed.data);
  return true;
}

function expectSamePlaces(text: string, data: unknown): void {
  const plain = locateYaml(text);
  // A comment beyond ASCII is all that makes the library read it.
  const composed = locateYaml(`${text}${text.endsWith("\n") ? "" : "\n"}# \u00e9`);
  if ("problem" in plain || "problem" in composed) return;
  for (const path of [...pathsOf(data), ["nothing"]]) {
    expect(plain.locate(path), `${JSON.stringify(text)} ${path.join(".")}`).toEqual(composed.locate(path));
  }
}

function pathsOf(data: unknown): (string | number)[][] {
  if (typeof data !== "object" || data === null) return [[]];
  const members = Object.entries(data).map(([key, value]) => [Array.isArray(data) ? Number(key) : key, value] as const);
  return [[], ...members.flatMap(([key, value]) => pathsOf(value).map((path) => [key, ...path]))];
}

test.each([
  { name: "digits", text: (n: number) => `a: ${"1".repeat(n)}x` },
  { name: "blanks before a comment", text: (n: number) => `a: b${" ".repeat(n)}c #` },
  { name: "texts in a list", text: (n: number) => `a: [${'"a", '.repeat(n)}` },
  { name: "open lists", text: (n: number) => `a: ${"[".repeat(n)}` },
  { name: "blanks in a list", text: (n: number) => `a: [${" ".repeat(n)}` },
  { name: "items", text: (n: number) => `a:\n${"- b\n".repeat(n)}` },
  { name: "literal text", text: (n: number) => `a: |\n${"  b\n\n".repeat(n)}` },
  { name: "many literal texts", text: (n: number) => `a:\n${"- |\n  b\n".repeat(n)}` },
])("$name: the time grows as the text does", ({ text }) => {
  expect(growthFactor((length) => readPlainYaml(text(length)), 20_000)).toBeLessThan(BELOW_SQUARE);
});
