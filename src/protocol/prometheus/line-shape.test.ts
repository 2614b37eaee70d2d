import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { createFollowLines, MAX_LOADED_BYTES } from "./follow-lines.ts";
import { LineShape } from "./line-shape.ts";
import { SampleScanner } from "./sample-line.ts";

/** How many of the lines behind the first are taken for alike; `isLoaded`: by native code. */
function alike(lines: readonly string[], isLoaded: boolean): number {
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""), "latin1");
  const scanner = new SampleScanner();
  const second = scanner.scan(bytes, 0, "text") + 1;
  const shape = new LineShape();
  if (isLoaded && !shape.load(bytes, 0, bytes.length)) throw new Error("not loaded");
  shape.record(bytes, 0, scanner);
  const end = shape.follow(bytes, second, bytes.length);
  shape.unload();
  return bytes.toString("latin1", second, end).split("\n").length - 1;
}

const FIRST = 'requests_total{method="GET",path="/a/1",code="200"} 17';

test.each([
  ["the same series", FIRST],
  ["another value", 'requests_total{method="GET",path="/a/1",code="200"} 4'],
  ["no integer", 'requests_total{method="GET",path="/a/1",code="200"} -1.5e+09'],
  ["a longer label", 'requests_total{method="DELETE",path="/a/1",code="200"} 17'],
  ["a shorter label", 'requests_total{method="",path="/a/1",code="200"} 17'],
  ["other labels altogether", 'requests_total{method="POST",path="/",code="a very long value indeed"} 17'],
  ["braces and commas within", 'requests_total{method="}",path=",x=",code="# "} 17'],
])("alike: %s", (_what, line) => {
  for (const isLoaded of [false, true]) {
    expect(alike([FIRST, line], isLoaded)).toBe(1);
    expect(alike([FIRST, line, FIRST, line], isLoaded)).toBe(3);
  }
});

test.each(["NaN", "+Inf", "1E3", "1e100", `0.${"1".repeat(250)}`])(
  "%s is a value that native code leaves to others",
  (value) => {
    const line = `requests_total{method="GET",path="/a/1",code="200"} ${value}`;
    expect(alike([FIRST, line], false)).toBe(1);
    expect(alike([FIRST, FIRST, line], true)).toBe(1);
  },
);

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
  for (const isLoaded of [false, true]) {
    expect(alike([FIRST, line], isLoaded)).toBe(0);
    expect(alike([FIRST, FIRST, line, FIRST], isLoaded)).toBe(1);
  }
});

test.each(["a 1", 'a{b="\\\\"} 1', 'a{b="\xc3\xbc"} 1'])("%j is not a model for others", (line) => {
  for (const isLoaded of [false, true]) expect(alike([line, line], isLoaded)).toBe(0);
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
      number: fc.constantFrom("1", "22", "-0.5", "1e9", "1e", "1.", "-", "", "x", "1 5"),
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
      const count = alike(lines, false);
      for (const name of taken.slice(1, 1 + count)) expect(name).toBe(taken[0]);
      const isCautious = lines.some((text) => text.endsWith(" 1."));
      if (isCautious) expect(alike(lines, true)).toBeLessThanOrEqual(count);
      else expect(alike(lines, true)).toBe(count);
    }),
    { numRuns: 2000 },
  );
});

test("zero bytes are not a model: with the sign bit set they would be equal as numbers", () => {
  const zeros = `a{b="${"\0".repeat(20)}"} 1`;
  for (const isLoaded of [false, true]) expect(alike([zeros, zeros], isLoaded)).toBe(0);
});

test("lines that begin anywhere in a buffer are followed where they are, and only while they are loaded", () => {
  const lines = Array.from({ length: 5 }, (_, index) => `a{b="${10 ** index}"} ${index}\n`);
  const bytes = Buffer.from(`# 32 bytes that are not loaded..\n${lines.join("")}`);
  const start = 33;
  const scanner = new SampleScanner();
  const shape = new LineShape();
  for (const isLoaded of [true, false]) {
    if (isLoaded) shape.load(bytes, start, bytes.length);
    const second = scanner.scan(bytes, start, "text") + 1;
    shape.record(bytes, start, scanner);
    if (isLoaded) bytes.fill("x", second, bytes.length);
    expect(shape.follow(bytes, second, bytes.length)).toBe(isLoaded ? bytes.length : second);
    shape.unload();
  }
});

test("more than fits is not loaded", () => {
  const bytes = Buffer.alloc(MAX_LOADED_BYTES + 1, "a");
  expect(new LineShape().load(bytes, 0, bytes.length)).toBe(false);
  expect(new LineShape().load(bytes, 1, bytes.length)).toBe(true);
});

test("without WebAssembly there is no native code, and that is no failure", () => {
  vi.stubGlobal("WebAssembly", undefined);
  const without = createFollowLines();
  vi.unstubAllGlobals();
  expect(without).toBeUndefined();
  expect(createFollowLines()).toBeDefined();
});
