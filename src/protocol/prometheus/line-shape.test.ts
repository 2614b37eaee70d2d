import fc from "fast-check";
import { expect, test } from "vitest";
import { LineShape } from "./line-shape.ts";
import { SampleScanner } from "./sample-line.ts";

/** How many of the lines behind the first are taken for alike. */
function alike(lines: readonly string[]): number {
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""), "latin1");
  const scanner = new SampleScanner();
  const second = scanner.scan(bytes, 0, "text") + 1;
  const shape = new LineShape();
  shape.record(bytes, 0, scanner);
  const end = shape.follow(bytes, second, bytes.length);
  return bytes.toString("latin1", second, end).split("\n").length - 1;
}

const FIRST = 'requests_total{method="GET",path="/a/1",code="200"} 17';

test.each([
  ["the same series", FIRST],
  ["another value", 'requests_total{method="GET",path="/a/1",code="200"} 4'],
  ["no integer", 'requests_total{method="GET",path="/a/1",code="200"} -1.5e+09'],
  ["no number", 'requests_total{method="GET",path="/a/1",code="200"} NaN'],
  ["a longer label", 'requests_total{method="DELETE",path="/a/1",code="200"} 17'],
  ["a shorter label", 'requests_total{method="",path="/a/1",code="200"} 17'],
  ["other labels altogether", 'requests_total{method="POST",path="/",code="a very long value indeed"} 17'],
  ["braces and commas within", 'requests_total{method="}",path=",x=",code="# "} 17'],
])("alike: %s", (_what, line) => {
  expect(alike([FIRST, line])).toBe(1);
  expect(alike([FIRST, line, FIRST, line])).toBe(3);
});

test.each([
  ["another name", 'requests_totals{method="GET",path="/a/1",code="200"} 17'],
  ["another label", 'requests_total{method="GET",paths="/a/1",code="200"} 17'],
  ["one label less", 'requests_total{method="GET",path="/a/1"} 17'],
  ["one label more", 'requests_total{method="GET",path="/a/1",code="200",x=""} 17'],
  ["an escape", 'requests_total{method="GET",path="\\\\",code="200"} 17'],
  ["letters beyond ASCII", 'requests_total{method="GET",path="\xc3\xbc",code="200"} 17'],
  ["a time stamp", 'requests_total{method="GET",path="/a/1",code="200"} 17 1'],
  ["no value", 'requests_total{method="GET",path="/a/1",code="200"}'],
  ["a broken value", 'requests_total{method="GET",path="/a/1",code="200"} 1x'],
  ["an open quote", 'requests_total{method="GET",path="/a/1'],
  ["nothing", ""],
])("to be scanned: %s", (_what, line) => {
  expect(alike([FIRST, line])).toBe(0);
  expect(alike([FIRST, FIRST, line, FIRST])).toBe(1);
});

test.each(["a 1", 'a{b="\\\\"} 1', 'a{b="\xc3\xbc"} 1'])("%j is not a model for others", (line) => {
  expect(alike([line, line])).toBe(0);
});

test("a label value that has to be a number is looked at in every line", () => {
  const lines = ["0.5", "+Inf", "1e3", "x", "2"].map((le) => `h_bucket{a="b",le="${le}"} 1\n`);
  const bytes = Buffer.from(lines.join(""));
  const scanner = new SampleScanner();
  const second = scanner.scan(bytes, 0, "text") + 1;
  const shape = new LineShape();
  shape.record(bytes, 0, scanner, scanner.leBound);
  const end = shape.follow(bytes, second, bytes.length);
  expect(bytes.toString("latin1", second, end)).toBe(lines.slice(1, 3).join(""));
});

test("what is alike is what the scanner takes, and of the same name", () => {
  const value = fc.oneof(
    fc.constantFrom("", "a", "200", "\\n", "\\x", '"', "\xff", "}", "a,b="),
    fc.stringMatching(/^[a-z0-9/]{0,20}$/),
  );
  const line = fc
    .record({
      name: fc.constantFrom("a", "ab", "requests_total"),
      labels: fc.array(fc.tuple(fc.constantFrom("x", "y", "long_label"), value), { maxLength: 4 }),
      number: fc.constantFrom("1", "22", "-0.5", "1e9", "NaN", "", "x", "1 5"),
    })
    .map(
      ({ name, labels, number }) => `${name}{${labels.map(([key, text]) => `${key}="${text}"`).join(",")}} ${number}`,
    );
  fc.assert(
    fc.property(line, fc.array(line, { minLength: 1, maxLength: 6 }), (first, others) => {
      const lines = [first, ...others];
      const scanner = new SampleScanner();
      const taken = lines.map((text) => {
        const bytes = Buffer.from(`${text}\n`, "latin1");
        return scanner.scan(bytes, 0, "text") === bytes.length - 1 ? text.slice(0, scanner.nameEnd) : undefined;
      });
      fc.pre(taken[0] !== undefined);
      for (const name of taken.slice(1, 1 + alike(lines))) expect(name).toBe(taken[0]);
    }),
    { numRuns: 2000 },
  );
});

test("zero bytes are not a model: with the sign bit set they would be equal as numbers", () => {
  const zeros = `a{b="${"\0".repeat(20)}"} 1`;
  expect(alike([zeros, zeros])).toBe(0);
});
