import fc from "fast-check";
import { expect, test } from "vitest";
import { type PrometheusFormat, SampleScanner } from "./sample-line.ts";

/** Name, series and value as the scanner cut them; undefined when it is no sample. */
function cut(line: string, format: PrometheusFormat = "text") {
  const bytes = Buffer.from(`${line}\n`, "latin1");
  const scanner = new SampleScanner();
  const end = scanner.scan(bytes, 0, format);
  if (end < 0) return undefined;
  expect(end).toBe(bytes.length - 1);
  const text = (to: number) => bytes.toString("latin1", 0, to);
  return {
    name: text(scanner.nameEnd),
    series: text(scanner.seriesEnd),
    value: text(scanner.valueEnd).slice(scanner.seriesEnd).trim(),
  };
}

test.each([
  ["a 1", { name: "a", series: "a", value: "1" }],
  ["a:b_c9 -1.5e-10", { name: "a:b_c9", series: "a:b_c9", value: "-1.5e-10" }],
  ['a{b="c"} +Inf', { name: "a", series: 'a{b="c"}', value: "+Inf" }],
  ['a{b="c",d="e f",} NaN', { name: "a", series: 'a{b="c",d="e f",}', value: "NaN" }],
  ["a{} .5", { name: "a", series: "a{}", value: ".5" }],
  ['a{ b = "c" , d="" } 5.', { name: "a", series: 'a{ b = "c" , d="" }', value: "5." }],
  ['a{b="\\"\\\\\\n{}, 1"}  1', { name: "a", series: 'a{b="\\"\\\\\\n{}, 1"}', value: "1" }],
  ["a\t1 1700000000000", { name: "a", series: "a", value: "1" }],
  ["a 1 -5 ", { name: "a", series: "a", value: "1" }],
  ['a{b="c"}1', { name: "a", series: 'a{b="c"}', value: "1" }],
])("text: %s", (line, want) => {
  expect(cut(line)).toEqual(want);
});

test.each([
  "",
  " ",
  "a",
  "a ",
  "9a 1",
  "-a 1",
  "a b",
  "a 1 2 3",
  "a 1 2.5",
  "a 1e",
  "a --1",
  "a 1x",
  "a{b=c} 1",
  "a{b} 1",
  'a{b="c" 1',
  'a{b="c} 1',
  'a{b="c" d="e"} 1',
  "a{,} 1",
  'a{9b="c"} 1',
  'a{b="\\t"} 1',
  'a{b="c"}',
  'a{b="\xff"} 1',
  "a 1\r",
  '{b="c"} 1',
  "a 1 # {} 1",
  "a infinit",
  "<html>",
])("text: %j is no sample", (line) => {
  expect(cut(line)).toBeUndefined();
});

test.each([
  "a_total 1 1700000000.25",
  'a_bucket{le="1"} 1 # {trace_id="x"} 0.5',
  'a_bucket{le="1"} 1 17.5 # {trace_id="x"} 0.5 17.25',
  "a_bucket 1 # {} 0.5",
])("OpenMetrics: %s", (line) => {
  expect(cut(line, "openmetrics")).toBeDefined();
});

test.each(['a 1 # {x="y"}', "a 1 # 1", "a 1 x", 'a 1 # {x="y"} z', "a 1  2", "a 1 2 # {x=y} 1"])(
  "OpenMetrics: %j is no sample",
  (line) => {
    expect(cut(line, "openmetrics")).toBeUndefined();
  },
);

test("label values beyond ASCII are taken as UTF-8", () => {
  const bytes = Buffer.from('a{b="grün 日本"} 1\n');
  expect(new SampleScanner().scan(bytes, 0, "text")).toBe(bytes.length - 1);
});

test("whatever is built by the rules is taken, and cut where it was put together", () => {
  const name = fc.stringMatching(/^[a-zA-Z_:][a-zA-Z0-9_:]{0,12}$/);
  const label = fc.tuple(fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_]{0,8}$/), fc.string());
  fc.assert(
    fc.property(name, fc.array(label, { maxLength: 4 }), fc.double(), (metric, labels, value) => {
      const escaped = (text: string) => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
      const pairs = labels.map(([key, text]) => `${key}="${escaped(text)}"`).join(",");
      const series = `${metric}{${pairs}}`;
      const number = Number.isFinite(value) ? String(value) : Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
      const bytes = Buffer.from(`${series} ${number}\n`);
      const scanner = new SampleScanner();
      expect(scanner.scan(bytes, 0, "text")).toBe(bytes.length - 1);
      expect(scanner.nameEnd).toBe(metric.length);
      expect(scanner.seriesEnd).toBe(Buffer.byteLength(series));
    }),
  );
});

test("random bytes give a position or -1, and never run past the line", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (noise) => {
      const bytes = Buffer.concat([noise, Buffer.from("\nnext 1\n")]);
      const end = new SampleScanner().scan(bytes, 0, "text");
      expect(end).toBeLessThanOrEqual(bytes.indexOf(0x0a));
    }),
  );
});
