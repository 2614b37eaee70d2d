import { expect, test } from "vitest";
import { BELOW_SQUARE, growthFactor } from "../../../test/support/growth-factor.ts";
import { composeYaml, MAX_TOKENS } from "./compose-yaml.ts";
import { GO_YAML, STRICT_YAML } from "./yaml-profiles.ts";

const joined = (count: number, line: (index: number) => string, separator = "\n") =>
  Array.from({ length: count }, (_, index) => line(index)).join(separator);

/** Texts whose length grows with `n`; each of them took quadratic or exponential time somewhere, or is meant to. */
const HOSTILE: readonly { readonly name: string; readonly text: (n: number) => string }[] = [
  { name: "nested `? ` keys", text: (n) => joined(n / 100, () => `- ${"? ".repeat(120)}a`) },
  { name: "nested flow maps as keys", text: (n) => joined(n / 100, () => `- ${"{? ".repeat(100)}a${"}".repeat(100)}`) },
  { name: "nested lists as keys", text: (n) => joined(n / 100, () => `- ${"[".repeat(100)}a${"]: b".repeat(100)}`) },
  { name: "keys in one map", text: (n) => joined(n, (index) => `k${index}: 1`) },
  { name: "keys in one flow map", text: (n) => `{${joined(n, (index) => `k${index}: 1`, ", ")}}` },
  { name: "equal keys", text: (n) => "k: 1\n".repeat(n) },
  { name: "maps as keys", text: (n) => joined(n, (index) => `? {a: ${index}}\n: 1`) },
  { name: "merge keys", text: (n) => `x: &x {a: 1}\nz:\n${"  <<: *x\n".repeat(n)}` },
  { name: "merges of one large map", text: mergesOfOneMap },
  { name: "merges in a chain", text: (n) => `x0: &x0 {a: 1}\n${joined(n, mergeOfThePrevious)}` },
  { name: "tags", text: (n) => "- !!str a\n".repeat(n) },
  { name: "unknown tags", text: (n) => "- !foo a\n".repeat(n) },
  { name: "tag directives", text: tagDirectives },
  { name: "colons", text: (n) => ":".repeat(n * 10) },
  { name: "colons and blanks", text: (n) => ": ".repeat(n) },
  { name: "colons on lines", text: (n) => ":\n".repeat(n) },
  { name: "comments", text: (n) => `a:\n${" # x\n".repeat(n)}b: 1` },
  { name: "comments in a flow list", text: (n) => `[${"#\n ".repeat(n)}]` },
  { name: "blank lines", text: (n) => `a: 1${"\n".repeat(n * 2)}b: 1` },
  { name: "block scalars", text: (n) => "- |\n  a\n".repeat(n) },
  { name: "a long block scalar", text: (n) => `a: |\n${"  line\n\n".repeat(n * 4)}` },
  { name: "a long folded scalar", text: (n) => `a: >\n${"  line\n\n    x\n".repeat(n * 4)}` },
  { name: "quotes that stay open", text: (n) => '"'.repeat(n * 2) },
  { name: "braces one after another", text: (n) => "{}".repeat(n) },
  { name: "commas", text: (n) => `[${",".repeat(n)}` },
  { name: "anchors with an alias each", text: anchorsAndAliases },
  { name: "aliases of one anchor", text: (n) => `- &a x\n${"- *a\n".repeat(n)}` },
  { name: "documents", text: (n) => "---\na\n".repeat(n) },
  { name: "directives", text: (n) => "%A\n".repeat(n) },
];

function mergesOfOneMap(n: number): string {
  return `x: &x {${joined(n, (index) => `a${index}: 1`, ",")}}\n${joined(n, (index) => `z${index}: {<<: *x}`)}`;
}
function mergeOfThePrevious(index: number): string {
  return `x${index + 1}: &x${index + 1} {<<: *x${index}, k${index}: 1}`;
}
function tagDirectives(n: number): string {
  const uses = joined(n, (index) => `- !e${index}!x a`);
  return `${joined(n, (index) => `%TAG !e${index}! tag:example.com,${index}:`)}\n---\n${uses}`;
}
function anchorsAndAliases(n: number): string {
  return `${joined(n, (index) => `- &a${index} x`)}\n${joined(n, (index) => `- *a${index}`)}`;
}

test.each(HOSTILE)("$name: the time grows as the text does", ({ text }) => {
  const work = (length: number) => {
    const hostile = text(length);
    composeYaml(hostile, STRICT_YAML);
    composeYaml(hostile, GO_YAML);
  };
  expect(growthFactor(work, 500)).toBeLessThan(BELOW_SQUARE);
});

test.each([
  { name: "nested `? ` keys", text: `- a\n- ${"? ".repeat(249)}a`, line: 2, says: /not allowed as a key/ },
  { name: "equal keys", text: "a: 1\nb: 1\na: 2", line: 3, says: /^Map keys must be unique: "a" is there twice$/ },
  { name: "keys that are equal as text", text: '1: a\n"1": b', line: 2, says: /^Map keys must be unique: "1"/ },
  { name: "an alias in its own value", text: "a: 1\nb: &b [*b]", line: 2, says: /is inside of what it repeats/ },
  { name: "an alias before its anchor", text: "a: *b\nb: &b 1", line: 1, says: /has no anchor before it/ },
  {
    name: "aliases that multiply",
    text: bomb(),
    line: 5,
    says: /aliases repeat too much: \d+ values, at most \d+ are/,
  },
  { name: "merges that multiply", text: mergesOfOneMap(200), line: 54, says: /aliases repeat too much/ },
  { name: "a merge of text", text: "a: 1\n<<: b", line: 2, says: /a merge key \(<<\) takes a map or a list of maps/ },
  { name: "brackets without end", text: "[".repeat(501), line: 1, says: /at most 500 levels/ },
  { name: "a second document", text: "a: 1\n---\nb: 1", line: 2, says: /more than one document/ },
])("$name: refused in line $line", ({ text, line, says }) => {
  const composed = composeYaml(text, STRICT_YAML);
  expect(composed).toMatchObject({ problem: { position: { line }, message: expect.stringMatching(says) } });
});

function bomb(): string {
  return `l0: &l0 [x]\n${joined(30, (index) => `l${index + 1}: &l${index + 1} [${`*l${index}, `.repeat(10)}]`)}`;
}

test("a document with more tokens than memory is meant for is refused before it is composed", () => {
  const composed = composeYaml("-\n".repeat(MAX_TOKENS / 2 + 1), STRICT_YAML);
  expect(composed).toMatchObject({ problem: { message: `the document has more than ${MAX_TOKENS} tokens: split it` } });
});

test.each([
  { text: "x: &x {a: 1, b: 2}\ny:\n  b: 3\n  <<: *x", gives: { x: { a: 1, b: 2 }, y: { b: 3, a: 1 } } },
  { text: "a: &a [1]\nb: &a [2]\nc: *a", gives: { a: [1], b: [2], c: [2] } },
  { text: "[a: 1, ? b]", gives: [{ a: 1 }, { b: null }] },
  { text: "~: 1\ntrue: 2", gives: { "": 1, true: 2 } },
  { text: "a: !!binary aGk=\nb: !!set {c}", gives: { a: "aGk=", b: { c: null } } },
])("$text", ({ text, gives }) => {
  expect(composeYaml(text, STRICT_YAML)).toMatchObject({ data: gives });
});

test("a member named __proto__ is a member", () => {
  const composed = composeYaml("__proto__: {a: 1}", STRICT_YAML);
  expect("data" in composed && Object.keys(composed.data as object)).toEqual(["__proto__"]);
});
