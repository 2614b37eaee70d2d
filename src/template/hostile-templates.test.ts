import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyArguments, anyText, anyTokens } from "../../test/support/template/hostile-text.ts";
import { SPRIG_FUNCTIONS } from "./functions/sprig.ts";
import { parseTemplate } from "./parse-template.ts";

const run = (text: string, data: unknown = {}, limits = {}) =>
  parseTemplate("t", text, { functions: SPRIG_FUNCTIONS, limits }).execute(data);

describe("nothing of JavaScript is reachable", () => {
  test.each([
    "{{.constructor}}",
    "{{.__proto__}}",
    "{{.toString}}",
    '{{index . "constructor"}}',
    '{{index . "__proto__"}}',
    '{{get . "hasOwnProperty"}}',
    "{{.inner.constructor.constructor}}",
  ])("%s is a missing key", (text) => {
    expect(["<no value>", ""]).toContain(run(text, { inner: {} }));
  });

  test.each(["{{constructor}}", "{{__proto__}}", "{{toString2}}", "{{eval}}", "{{env}}", "{{call .f}}"])(
    "%s is not a function",
    (text) => {
      expect(() => run(text, { f: () => "called" })).toThrow(/function "\w+" not defined/);
    },
  );

  test("a function in the data is never called and has no fields", () => {
    let called = false;
    const data = {
      f: () => {
        called = true;
      },
      date: new Date(0),
    };
    expect(run("{{.f}} {{.date}}", data)).toBe("interface {} interface {}");
    expect(() => run("{{.f.name}}", data)).toThrow(/can't evaluate field name/);
    expect(() => run("{{.date.getTime}}", data)).toThrow(/can't evaluate field getTime/);
    expect(called).toBe(false);
  });

  test("a key named __proto__ is a key like any other", () => {
    const data = JSON.parse('{"m":{"__proto__":"p"}}');
    expect(run("{{.m.__proto__}} {{.m}}", data)).toBe("p map[__proto__:p]");
    expect(run('{{(dict "__proto__" 1).__proto__}}')).toBe("1");
  });
});

describe("every execution is bounded", () => {
  test.each([
    { what: "a long loop", text: "{{range 1000000000}}{{end}}", code: "too-many-steps" },
    { what: "nested loops", text: "{{range 99999}}{{range 99999}}x{{end}}{{end}}", code: "too-many-steps" },
    { what: "endless recursion", text: '{{define "r"}}{{template "r"}}{{end}}{{template "r"}}', code: "too-deep" },
    { what: "much output", text: '{{range 100000}}{{printf "%1000d" 1}}{{end}}', code: "too-much-output" },
    { what: "a long repeat", text: '{{repeat 999999999 "abc"}}', code: "too-much-output" },
    { what: "a doubling text", text: '{{$x := "ab"}}{{range 99}}{{$x = print $x $x}}{{end}}', code: "too-much-output" },
    {
      what: "a doubling list",
      text: "{{$x := list 1}}{{range 99}}{{$x = concat $x $x}}{{end}}",
      code: "too-many-steps",
    },
    {
      what: "nested lists that multiply",
      text: "{{$x := list 1}}{{range 60}}{{$x = list $x $x $x}}{{end}}{{$x}}",
      code: "too-much-output",
    },
    { what: "a large sequence", text: "{{until 999999999}}", code: "too-many-steps" },
  ])("$what ends with $code", ({ text, code }) => {
    expect(() => run(text)).toThrow(expect.objectContaining({ code }));
  });

  test.each([
    { what: "parentheses", text: `{{${"(".repeat(50_000)}1${")".repeat(50_000)}}}` },
    { what: "blocks", text: `${"{{if 1}}".repeat(50_000)}${"{{end}}".repeat(50_000)}` },
  ])("50,000 nested $what are refused, not a stack overflow", ({ text }) => {
    expect(() => run(text)).toThrow(expect.objectContaining({ code: "too-deep" }));
  });

  test("nesting just inside the limit works", () => {
    expect(run(`${"{{if 1}}".repeat(140)}x${"{{end}}".repeat(140)}`)).toBe("x");
    expect(run(`{{${"(".repeat(140)}1${")".repeat(140)}}}`)).toBe("1");
  });

  test("an error inside the limits names the place", () => {
    expect(() => run("line one\n  {{range 10}}{{end}}", {}, { maxSteps: 5 })).toThrow(
      expect.objectContaining({ position: { template: "t", line: 2, column: 10 } }),
    );
  });
});

describe("any text gives a value or a coded error", () => {
  test("random characters", () => anyText(100));
  test("random sequences of the language's own tokens", () => anyTokens(300));
  test("every function survives any arguments", () => anyArguments(500));
});

test("text without actions comes out as it went in", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      fc.pre(!text.includes("{{"));
      expect(run(text)).toBe(text);
    }),
  );
});

test("any text survives as a quoted literal", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      expect(run(`{{${JSON.stringify(text).replaceAll("\u007f", "\\x7f")}}}`)).toBe(text);
      expect(run("{{.v}}{{printf `%s` .v}}", { v: text })).toBe(text + text);
    }),
  );
});

test("the data is never changed", () => {
  const frozen = Object.freeze({ m: Object.freeze({ a: 1 }), l: Object.freeze([1, 2]) });
  expect(run('{{merge (dict "b" 2) .m}} {{append .l 3}} {{reverse .l}}', frozen)).toBe("map[a:1 b:2] [1 2 3] [2 1]");
});
