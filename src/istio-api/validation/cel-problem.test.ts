import fc from "fast-check";
import { expect, test } from "vitest";
import { celProblem } from "./cel-problem.ts";

test.each([
  "response.code >= 400",
  "true",
  "response.code >= 400 || (response.code == 200 && xds.cluster_name == 'BlackHoleCluster')",
  "!has(request.headers['x-a']) && request.headers[\"a\"] != b'\\x00'",
  "request.url_path.matches(r'^/a/\\d+$') ? 1u : -2.5e3",
  "connection.mtls in [true, false,]",
  "{'a': 1, 'b': [2]}.a == 0x1F",
  ".a.b{c: 1}.d",
  "[1, 2].exists(x, x > 1) // why not",
  '"""many\nlines""" + "x"',
  "- - 1 * 2 / 3 % 4",
])("%s is an expression", (expression) => {
  expect(celProblem(expression)).toBeUndefined();
});

test.each([
  { expression: "", says: "syntax error: the expression ends too early" },
  { expression: "response.code >=", says: "syntax error: the expression ends too early" },
  { expression: "a = b", says: 'syntax error at "= b"' },
  { expression: "(a", says: "syntax error: the expression ends too early" },
  { expression: "a b", says: 'syntax error at "b"' },
  { expression: "a ? b", says: "syntax error: the expression ends too early" },
  { expression: "[1 2]", says: 'syntax error at "2"' },
  { expression: "{'a'}", says: 'syntax error at "}"' },
  { expression: "a.1", says: 'syntax error at ".1"' },
  { expression: "'open", says: 'syntax error at "\'open"' },
  { expression: "for", says: 'syntax error at "for"' },
  { expression: "in", says: 'syntax error at "in"' },
  { expression: `${"(".repeat(300)}1${")".repeat(300)}`, says: "the expression is nested too deeply" },
])("$expression is none: $says", ({ expression, says }) => {
  expect(celProblem(expression)).toBe(says);
});

test("any text gives an answer", () => {
  const pieces = fc.constantFrom(
    "a",
    "1",
    "'x'",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "&&",
    "||",
    "!",
    "-",
    "?",
    ":",
    ".",
    ",",
    " ",
    "in",
    "==",
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(pieces, fc.string({ maxLength: 3 })), { maxLength: 20 }), (parts) => {
      expect(["string", "undefined"]).toContain(typeof celProblem(parts.join("")));
    }),
  );
});

test("expressions put together from expressions are expressions", () => {
  const { tree } = fc.letrec<{ tree: string; leaf: string }>((tie) => ({
    leaf: fc.constantFrom("a", "1.5", "'text'", "a.b", "f(x)", "m['k']", "[]", "{}"),
    tree: fc.oneof(
      { maxDepth: 4 },
      tie("leaf"),
      fc
        .tuple(tie("tree"), fc.constantFrom("&&", "||", "+", "<=", "in", "%"), tie("tree"))
        .map(([a, sign, b]) => `${a} ${sign} ${b}`),
      tie("tree").map((inner) => `!(${inner})`),
      fc.tuple(tie("tree"), tie("tree"), tie("tree")).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    ),
  }));
  fc.assert(fc.property(tree, (expression) => celProblem(expression) === undefined));
});
