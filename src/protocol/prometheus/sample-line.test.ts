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
  ["a 1 -5", { name: "a", series: "a", value: "1" }],
  ["a 1 9223372036854775807", { name: "a", series: "a", value: "1" }],
  ["a 1.7e308", { name: "a", series: "a", value: "1.7e308" }],
  ["a 1e-999", { name: "a", series: "a", value: "1e-999" }],
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
  "a 1 ",
  "a 1 2 ",
  "a 1 9223372036854775808",
  "a 1e400",
  `a ${"9".repeat(400)}`,
  'a{b="c",b="d"} 1',
  'a{b="c",bb="c",b="c"} 1',
  'a{__name__="b"} 1',
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
])("text: %j is not a sample", (line) => {
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

test.each([
  'a 1 # {x="y"}',
  "a 1 NaN",
  "a 1 +Inf",
  'a 1 # {x="y"} 1 NaN',
  'a 1 # {x="y",x="z"} 1',
  "a 1 # 1",
  "a 1 x",
  'a 1 # {x="y"} z',
  "a 1  2",
  "a 1 2 # {x=y} 1",
  "a  1",
  "a\t1",
  "a 1\t2",
  'a{x="y"}1',
  'a{ x="y"} 1',
  'a{x ="y"} 1',
  'a{x= "y"} 1',
  'a{x="y" } 1',
  'a{x="y", z="y"} 1',
  'a{x="y",} 1',
  'a 1 # {x="y",} 1',
  'a 1 # { x="y"} 1',
])("OpenMetrics: %j is not a sample", (line) => {
  expect(cut(line, "openmetrics")).toBeUndefined();
});

test("label values beyond ASCII are taken as UTF-8", () => {
  const bytes = Buffer.from('a{b="grün 日本"} 1\n');
  expect(new SampleScanner().scan(bytes, 0, "text")).toBe(bytes.length - 1);
});

test("whatever is built by the rules is taken, and cut where it was put together", () => {
  const name = fc.stringMatching(/^[a-zA-Z_:][a-zA-Z0-9_:]{0,12}$/);
  const labelName = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_]{0,8}$/).filter((text) => text !== "__name__");
  const label = fc.tuple(labelName, fc.string());
  const labelSet = fc.uniqueArray(label, { maxLength: 4, selector: ([key]) => key });
  fc.assert(
    fc.property(name, labelSet, fc.double(), (metric, labels, value) => {
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

test("labels are distinguished however many there are", () => {
  const line = (count: number, last: string) =>
    `a{${Array.from({ length: count }, (_, index) => `l${index}="1"`).join(",")},${last}="1"} 1`;
  for (const count of [1, 63, 64, 65, 500]) {
    expect(cut(line(count, "other"))).toBeDefined();
    for (const index of [0, count - 1]) expect(cut(line(count, `l${index}`))).toBeUndefined();
  }
});

test("the values of le and quantile are found, also behind an exemplar", () => {
  const scanner = new SampleScanner();
  const valueAt = (line: string, bound: "leBound" | "quantileBound") => {
    const bytes = Buffer.from(`${line}\n`);
    expect(scanner.scan(bytes, 0, "openmetrics")).toBeGreaterThan(0);
    const index = scanner[bound];
    return index < 0 ? undefined : bytes.toString("latin1", scanner.labelBounds[index], scanner.labelBounds[index + 1]);
  };
  expect(valueAt('a_bucket{x="y",le="0.5",len="3"} 1 # {le="7"} 1', "leBound")).toBe("0.5");
  expect(valueAt('a{quantile="0.9"} 1', "quantileBound")).toBe("0.9");
  expect(valueAt('a{l="1",quantiles="0.9"} 1', "quantileBound")).toBeUndefined();
  expect(valueAt('a{l="1"} 1 # {le="1"} 1', "leBound")).toBeUndefined();
});
