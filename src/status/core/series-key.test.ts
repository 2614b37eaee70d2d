import fc from "fast-check";
import { expect, test } from "vitest";
import { seriesKey } from "./series-key.ts";

const keyOf = (line: string) => seriesKey(Buffer.from(line, "latin1"), 0, line.length);

test.each([
  { line: "up 1\n", key: "up" },
  { line: "up\t1\n", key: "up" },
  { line: "up 1 1700000000000\n", key: "up" },
  { line: "up{} 1\n", key: "up{}" },
  { line: 'up{a="b"} 1\n', key: 'up{a="b"}' },
  { line: 'up{a="b",c="d"} 1\n', key: 'up{a="b",c="d"}' },
  { line: 'up{ a = "b" , } 1\n', key: 'up{ a = "b" , }' },
  { line: 'up{a="two words"} 1\n', key: 'up{a="two words"}' },
  { line: 'up{a="}"} 1\n', key: 'up{a="}"}' },
  { line: 'up{a="\\"} 2\\\\"} 1\n', key: 'up{a="\\"} 2\\\\"}' },
  { line: 'up{a="b"} 1 # {trace="x"} 0.5\n', key: 'up{a="b"}' },
])("the series of $line is $key", ({ line, key }) => {
  expect(keyOf(line)).toBe(key);
});

test("only the given part of the bytes counts", () => {
  const bytes = Buffer.from('first{a="1"} 1\nsecond{a="2"} 2\nthird 3\n');
  const start = bytes.indexOf("second");
  expect(seriesKey(bytes, start, bytes.indexOf("third"))).toBe('second{a="2"}');
});

const label = fc
  .string({ maxLength: 12 })
  .map((text) => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n"));

test("whatever stands in label values, the value and the time are no part of the key", () => {
  fc.assert(
    fc.property(fc.array(label, { maxLength: 4 }), fc.double(), fc.nat(), (values, value, time) => {
      const labels = values.map((text, index) => `l${index}="${text}"`).join(",");
      const series = Buffer.from(`metric_total{${labels}}`).toString("latin1");
      expect(keyOf(`${series} ${value} ${time}\n`)).toBe(series);
    }),
  );
});
