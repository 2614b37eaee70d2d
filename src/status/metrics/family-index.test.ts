import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addToIndex,
  type Drop,
  type FamilyIndex,
  type IndexedFamily,
  indexBody,
  seriesKey,
  seriesOf,
} from "./family-index.ts";

function dropped() {
  const counts: Record<string, number> = {};
  const drop: Drop = (what, count) => {
    counts[what] = (counts[what] ?? 0) + count;
  };
  return { counts, drop };
}

const index = (text: string, drop: Drop = () => undefined, isTrusted = false) =>
  indexBody([Buffer.from(text)], { from: "text", to: "text", isTrusted }, drop);

const samplesOf = (family: IndexedFamily | undefined) =>
  (family?.blocks ?? []).map(({ bytes, start, end }) => bytes.toString("utf8", start, end)).join("");

const linesOf = (families: FamilyIndex, name: string) => samplesOf(families.get(name)).split("\n").filter(Boolean);

describe("one body", () => {
  test("is known by family, with type, help and samples", () => {
    const families = index('# HELP a About a.\n# TYPE a counter\na 1\na{x="y"} 2\n# TYPE b gauge\nb 3\n');
    expect([...families.keys()]).toEqual(["a", "b"]);
    expect(families.get("a")).toMatchObject({ type: "counter", help: "About a." });
    expect(linesOf(families, "a")).toEqual(["a 1", 'a{x="y"} 2']);
    expect(linesOf(families, "b")).toEqual(["b 3"]);
  });

  test("may be cut into chunks anywhere", () => {
    const text = '# TYPE a counter\na 1\na{x="y"} 2\n# TYPE b gauge\nb 3\n';
    const whole = index(text);
    for (let cut = 1; cut < text.length; cut += 1) {
      const chunks = [Buffer.from(text.slice(0, cut)), Buffer.from(text.slice(cut))];
      const families = indexBody(chunks, { from: "text", to: "text", isTrusted: false }, () => undefined);
      for (const name of whole.keys()) expect(linesOf(families, name)).toEqual(linesOf(whole, name));
    }
  });

  test("with a family twice has it once", () => {
    const { counts, drop } = dropped();
    const families = index('# TYPE a counter\na 1\n# TYPE b gauge\nb 1\n# TYPE a counter\na{x="y"} 2\n', drop);
    expect(linesOf(families, "a")).toEqual(["a 1", 'a{x="y"} 2']);
    expect(counts).toEqual({});
  });

  test("with a family under two types keeps the first", () => {
    const { counts, drop } = dropped();
    const families = index('# TYPE a counter\na 1\n# TYPE b gauge\nb 1\n# TYPE a gauge\na{x="y"} 2\n', drop);
    expect(families.get("a")?.type).toBe("counter");
    expect(linesOf(families, "a")).toEqual(["a 1"]);
    expect(counts).toEqual({ family: 1 });
  });

  test("that names a series twice keeps the first, unless it is trusted not to", () => {
    const text = '# TYPE a counter\na{x="1"} 1\na{x="2"} 2\na{x="1"} 3\na{x="1"} 4\n';
    const { counts, drop } = dropped();
    expect(linesOf(index(text, drop), "a")).toEqual(['a{x="1"} 1', 'a{x="2"} 2']);
    expect(counts).toEqual({ series: 2 });
    expect(linesOf(index(text, drop, true), "a")).toHaveLength(4);
  });

  test("counts the lines that are not metrics", () => {
    const { counts, drop } = dropped();
    expect(linesOf(index('# TYPE a counter\na 1\nbroken line here and there\na{x="y"} 2\n', drop), "a")).toHaveLength(
      2,
    );
    expect(counts.line).toBe(1);
  });
});

describe("a later source", () => {
  test("adds its families and returns their names", () => {
    const known = index("# TYPE a counter\na 1\n");
    expect(addToIndex(known, index("# TYPE b gauge\nb 2\n"), () => undefined)).toEqual(["b"]);
    expect([...known.keys()]).toEqual(["a", "b"]);
  });

  test("wins where both have a series", () => {
    const { counts, drop } = dropped();
    const known = index('# TYPE a counter\na{x="1"} 1\na{x="2"} 2\n');
    addToIndex(known, index('# HELP a Given late.\n# TYPE a counter\na{x="2"} 20\na{x="3"} 30\n'), drop);
    expect(linesOf(known, "a")).toEqual(['a{x="1"} 1', 'a{x="2"} 20', 'a{x="3"} 30']);
    expect(known.get("a")?.help).toBe("Given late.");
    expect(counts).toEqual({ series: 1 });
  });

  test("leaves the help of the first as it is", () => {
    const known = index("# HELP a First.\n# TYPE a counter\na 1\n");
    addToIndex(known, index('# HELP a Second.\n# TYPE a counter\na{x="y"} 1\n'), () => undefined);
    expect(known.get("a")?.help).toBe("First.");
  });

  test("loses a family of another type as a whole", () => {
    const { counts, drop } = dropped();
    const known = index("# TYPE a counter\na 1\n");
    addToIndex(known, index('# TYPE a gauge\na{x="y"} 2\n'), drop);
    expect(linesOf(known, "a")).toEqual(["a 1"]);
    expect(counts).toEqual({ family: 1 });
  });
});

test("the series of a family are its lines without values", () => {
  const families = index('# TYPE a histogram\na_bucket{le="1"} 1\na_bucket{le="+Inf"} 2\na_sum 3\na_count 2\n');
  const family = families.get("a");
  expect(family && [...seriesOf(family)]).toEqual(['a_bucket{le="1"}', 'a_bucket{le="+Inf"}', "a_sum", "a_count"]);
});

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

test("with any text in label values, the value and the time are not part of the key", () => {
  fc.assert(
    fc.property(fc.array(label, { maxLength: 4 }), fc.double(), fc.nat(), (values, value, time) => {
      const labels = values.map((text, index) => `l${index}="${text}"`).join(",");
      const series = Buffer.from(`metric_total{${labels}}`).toString("latin1");
      expect(keyOf(`${series} ${value} ${time}\n`)).toBe(series);
    }),
  );
});
