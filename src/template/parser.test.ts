import { describe, expect, test } from "vitest";
import type { Node } from "./ast.ts";
import { printExpression } from "./ast.ts";
import { tokenize } from "./lexer.ts";
import { parse } from "./parser.ts";

const known = new Set(["print", "eq", "list"]);
const bodies = (text: string) => parse("t", text, (name) => known.has(name), 100);
const nodes = (text: string) => bodies(text).get("t") ?? [];

/** A body in short: texts quoted, actions as they print, branches with their kind. */
function outline(body: readonly Node[]): string {
  return body
    .map((node) => {
      switch (node.kind) {
        case "text":
          return JSON.stringify(node.text);
        case "action":
          return printExpression(node.pipeline);
        case "template":
          return `template ${node.name}${node.pipeline ? ` ${printExpression(node.pipeline)}` : ""}`;
        case "break":
        case "continue":
          return node.kind;
        default: {
          const otherwise = node.otherwise.length > 0 ? ` else(${outline(node.otherwise)})` : "";
          return `${node.kind} ${printExpression(node.pipeline)}(${outline(node.body)})${otherwise}`;
        }
      }
    })
    .join(" ");
}

describe("tokens", () => {
  const types = (text: string) =>
    tokenize(text).map(({ type, text: part }) => (type === "space" ? "_" : `${type}:${part}`));

  test.each([
    ["{{.a .b.c}}", "left:{{ field:.a _ field:.b field:.c right:}} eof:"],
    ["{{$x := 1}}", "left:{{ variable:$x _ declare::= _ number:1 right:}} eof:"],
    ["{{- .  -}} x", "left:{{-  dot:. _ right:}} text:x eof:"],
    ["{{-3}}", "left:{{ number:-3 right:}} eof:"],
    ['{{"a\\"b" | print}}', 'left:{{ string:"a\\"b" _ pipe:| _ identifier:print right:}} eof:'],
    ["{{if nil}}{{end}}", "left:{{ keyword:if _ nil:nil right:}} left:{{ keyword:end right:}} eof:"],
    ["a{{/* c */}}b", "text:a text:b eof:"],
    ["}}{", "text:}}{ eof:"],
  ])("%s", (text, tokens) => {
    expect(types(text).join(" ")).toBe(tokens);
  });

  test("positions are where tokens begin", () => {
    expect(tokenize("ab{{ .c }}").map(({ pos }) => pos)).toEqual([0, 2, 4, 5, 7, 8, 10]);
  });
});

describe("trees", () => {
  test.each([
    ["{{if .a}}x{{else if .b}}y{{else}}z{{end}}", 'if .a("x") else(if .b("y") else("z"))'],
    ["{{with $x := .a}}{{$x.b}}{{else with .c}}c{{end}}", 'with $x := .a($x.b) else(with .c("c"))'],
    ["{{range $i, $v := .l}}{{break}}{{continue}}{{else}}n{{end}}", 'range $i, $v := .l(break continue) else("n")'],
    ['{{template "q"}}{{template "r" .a}}', "template q template r .a"],
    ['{{block "q" .a}}x{{end}}', "template q .a"],
    ["{{print (eq .a 1).b | print}}", "print (eq .a 1).b | print"],
    ["{{(list 1 2)}}", "(list 1 2)"],
    ["{{$.a.b}} {{true}} {{nil | print}}", '$.a.b " " true " " nil | print'],
  ])("%s", (text, tree) => {
    expect(outline(nodes(text))).toBe(tree);
  });

  test("definitions stand beside the body", () => {
    const all = bodies('{{define "a"}}A{{end}}x{{define "b"}}{{end}}');
    expect([...all.keys()].sort()).toEqual(["a", "b", "t"]);
    expect(outline(all.get("a") ?? [])).toBe('"A"');
  });

  test("an empty definition may be given a body later, a real one not", () => {
    expect(outline(bodies('{{define "a"}} {{end}}{{define "a"}}A{{end}}').get("a") ?? [])).toBe('"A"');
    expect(() => bodies('{{define "a"}}A{{end}}{{define "a"}}B{{end}}')).toThrow('multiple definition of template "a"');
  });
});

describe("scopes", () => {
  test.each([
    "{{if true}}{{$x := 1}}{{end}}{{$x}}",
    "{{$x := $x}}",
    "{{$x = 1}}",
    '{{$x := 1}}{{define "q"}}{{$x}}{{end}}',
    "{{range $i, $v := .l}}{{end}}{{$v}}",
  ])("%s uses a variable it does not see", (text) => {
    expect(() => bodies(text)).toThrow(/undefined variable "\$[xv]"/);
  });

  test.each(['{{range .l}}{{define "q"}}{{end}}{{end}}', '{{range .l}}{{block "q" .}}{{break}}{{end}}{{end}}'])(
    "%s is refused",
    (text) => {
      expect(() => bodies(text)).toThrow(/^template: t:1: /);
    },
  );
});

test("errors carry line and column beside Go's text", () => {
  expect(() => bodies("one\n  é{{ nope }}")).toThrow(
    expect.objectContaining({ code: "parse", position: { template: "t", line: 2, column: 7 } }),
  );
});
