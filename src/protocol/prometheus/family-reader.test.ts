import fc from "fast-check";
import { expect, test } from "vitest";
import { FamilyReader, type FamilyReaderOptions } from "./family-reader.ts";
import { MAX_LOADED_BYTES } from "./follow-lines.ts";

const TEXT: FamilyReaderOptions = { from: "text", to: "text", isTrusted: false };

/** What a sink gets, as text: `name type` and the samples below. */
function read(pieces: readonly (string | Buffer)[], options: Partial<FamilyReaderOptions> = {}, isComplete = true) {
  const families: { header: string; help: string | undefined; samples: string }[] = [];
  const reader = new FamilyReader(
    {
      begin: ({ name, type, help }) => void families.push({ header: `${name} ${type}`, help, samples: "" }),
      samples(bytes, start, end) {
        const last = families.at(-1);
        if (last !== undefined) last.samples += bytes.toString("utf8", start, end);
      },
    },
    { ...TEXT, ...options },
  );
  for (const piece of pieces) reader.push(Buffer.from(piece));
  reader.end(isComplete);
  return { families, broken: reader.brokenLines };
}
const headers = (text: string, options?: Partial<FamilyReaderOptions>) =>
  read([text], options).families.map(({ header }) => header);

test("families are reported once, with their help, when the first sample is there", () => {
  const { families } = read(['# HELP a Text \\\\ here.\n# TYPE a counter\na 1\na{b="c"} 2\n# TYPE empty gauge\nb 3\n']);
  expect(families).toEqual([
    { header: "a counter", help: "Text \\\\ here.", samples: 'a 1\na{b="c"} 2\n' },
    { header: "b untyped", help: undefined, samples: "b 3\n" },
  ]);
});

test.each([
  {
    text: '# TYPE h histogram\nh_bucket{le="1"} 1\nh_sum 1\nh_count 1\nh_other 1\n',
    want: ["h histogram", "h_other untyped"],
  },
  {
    text: '# TYPE s summary\ns{quantile="1"} 1\ns_sum 1\ns_count 1\ns_bucket 1\n',
    want: ["s summary", "s_bucket untyped"],
  },
  { text: "# TYPE a gauge\nab 1\na 1\n", want: ["ab untyped", "a untyped"] },
  { text: "# TYPE a gauge\na 1\n_sum 1\n", want: ["a gauge", "_sum untyped"] },
  { text: "# TYPE a wrong\na 1\n", want: ["a untyped"] },
  { text: "a 1\n# TYPE a counter\na 2\n", want: ["a untyped"] },
  { text: "# TYPE a counter\n# TYPE a gauge\na 2\n", want: ["a counter"] },
  { text: "#TYPE a counter\n# just a remark\n\n \na 1\n", want: ["a untyped"] },
])("$want", ({ text, want }) => {
  expect(headers(text)).toEqual(want);
});

test.each([
  { text: "# TYPE a_total counter\na_total 1\n", want: ["a counter"] },
  { text: "# TYPE a counter\na 1\n", want: ["a unknown"] },
  { text: "# TYPE a untyped\na 1\n", want: ["a unknown"] },
  { text: '# TYPE a histogram\na_bucket{le="+Inf"} 1\n', want: ["a histogram"] },
])("text to OpenMetrics keeps sample names: $text", ({ text, want }) => {
  for (const isTrusted of [true, false]) expect(headers(text, { to: "openmetrics", isTrusted })).toEqual(want);
});

test.each([
  { text: "# TYPE a counter\na_total 1\na_created 2\n", want: ["a_total counter"] },
  { text: '# TYPE a info\na_info{v="1"} 1\n', want: ["a_info gauge"] },
  { text: '# TYPE a stateset\na{a="x"} 1\n', want: ["a gauge"] },
  { text: "# TYPE a unknown\na 1\n# EOF\n", want: ["a untyped"] },
])("OpenMetrics to text: $text", ({ text, want }) => {
  expect(headers(text, { from: "openmetrics" })).toEqual(want);
});

test("time stamps change their unit and exemplars go", () => {
  const down = read(['a 1 1.5 # {x="y"} 2\n'], { from: "openmetrics" });
  expect(down.families[0]?.samples).toBe("a 1 1500\n");
  const up = read(["a 1  1500 \n"], { to: "openmetrics" });
  expect(up.families[0]?.samples).toBe("a 1 1.5\n");
});

test.each([
  { what: "blanks before the name", text: " a 1\n\tb 2\n", samples: ["a 1\n", "b 2\n"] },
  { what: "blanks behind the value", text: "a 1 \na 2 5\t \n", samples: ["a 1\na 2 5\n"] },
  { what: "blanks before the labels", text: 'a { x = "{ 1" } 1\n', samples: ['a{ x = "{ 1" } 1\n'] },
  { what: "lines of another system", text: "# TYPE a gauge\r\na 1\r\n\r\na 2\r\n", samples: ["a 1\na 2\n"] },
  {
    what: "blanks of one line among others",
    text: 'a{x="1"} 1\n a{x="2"} 2\na{x="3"} 3\na{x="44"} 4\n',
    samples: ['a{x="1"} 1\na{x="2"} 2\na{x="3"} 3\na{x="44"} 4\n'],
  },
  { what: "blanks before metadata", text: "  # TYPE a gauge\n a 1\n", samples: ["a 1\n"] },
])("$what are not a fault and do not stay", ({ text, samples }) => {
  const { families, broken } = read([text]);
  expect(families.map((family) => family.samples)).toEqual(samples);
  expect(broken).toBe(0);
  // Every place where the body may be cut.
  for (let at = 1; at < text.length; at++) {
    const cut = read([text.slice(0, at), text.slice(at)]).families;
    expect(cut.map((family) => family.samples).join("")).toBe(samples.join(""));
  }
});

test("metadata behind blanks counts as any other", () => {
  expect(headers("  # TYPE a gauge\r\n a 1\n")).toEqual(["a gauge"]);
});

test.each([
  { text: "# TYPE a counter\na 1\n", want: ["a unknown"] },
  { text: "# TYPE a counter\na_total 1\na 1\n", want: ["a counter", "a unknown"] },
  { text: "# TYPE a histogram\na 1\n", want: ["a unknown"] },
  { text: "# TYPE a info\na 1\n", want: ["a unknown"] },
  { text: '# TYPE a summary\na{quantile="1"} 1\n', want: ["a summary"] },
  { text: "# TYPE a gauge\na 1\n", want: ["a gauge"] },
])("samples of OpenMetrics that lack their type's ending are a family of no type: $text", ({ text, want }) => {
  expect(headers(text, { from: "openmetrics", to: "openmetrics" })).toEqual(want);
});

test("OpenMetrics counts its blanks", () => {
  expect(read([' a 1\na 1 \na {x="1"} 1\na 1\r\n'], { from: "openmetrics" }).broken).toBe(4);
});

test.each([
  { text: '# TYPE h histogram\nh_bucket{le="x"} 1\nh_bucket{le="1"} 2\n', kept: 'h_bucket{le="1"} 2\n', broken: 1 },
  { text: '# TYPE h histogram\nh_bucket{le="1"} 1\nh_bucket{le="1x"} 2\n', kept: 'h_bucket{le="1"} 1\n', broken: 1 },
  { text: '# TYPE s summary\ns{quantile="half"} 1\ns_sum 1\n', kept: "s_sum 1\n", broken: 1 },
  { text: '# TYPE h histogram\nh_sum{le="x"} 1\n', kept: 'h_sum{le="x"} 1\n', broken: 0 },
  { text: '# TYPE h gauge\nh{le="x"} 1\nh{quantile="y"} 1\n', kept: 'h{le="x"} 1\nh{quantile="y"} 1\n', broken: 0 },
  { text: '# TYPE h histogram\nother_bucket{le="x"} 1\n', kept: 'other_bucket{le="x"} 1\n', broken: 0 },
])("buckets and quantiles are numbers: $text", ({ text, kept, broken }) => {
  const result = read([text]);
  expect(result.families.map(({ samples }) => samples).join("")).toBe(kept);
  expect(result.broken).toBe(broken);
});

test("broken lines are counted and left out; a last line without newline counts only when the body is whole", () => {
  expect(read(["a 1\n?\nb\n\nc 1"])).toMatchObject({
    broken: 2,
    families: [{ samples: "a 1\n" }, { samples: "c 1\n" }],
  });
  expect(read(["a 1\nb 1"], {}, false).families).toHaveLength(1);
});

test("a line without end, and a body of broken lines, are given up", () => {
  expect(() => read(["a".repeat(70_000)])).toThrow(expect.objectContaining({ code: "line-too-long" }));
  expect(() => read(["?\n".repeat(1001)])).toThrow(expect.objectContaining({ code: "not-metrics" }));
});

test("where a body is cut into pieces makes no difference", () => {
  const line = fc.constantFrom(
    "a 1\n",
    'a{b="c"} 2\n',
    "# TYPE a counter\n",
    "# HELP b x\n",
    "b 3\n",
    "broken\n",
    "\n",
    "# EOF\n",
    "c 1",
  );
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(40)), fc.boolean(), (lines, cuts, isTrusted) => {
      const text = lines.join("").replace(/c 1(?=.)/g, "c 1\n");
      const pieces: string[] = [];
      let rest = text;
      for (const cut of cuts) {
        pieces.push(rest.slice(0, cut));
        rest = rest.slice(cut);
      }
      expect(read([...pieces, rest], { isTrusted })).toEqual(read([text], { isTrusted }));
    }),
  );
});

test("a read larger than what is followed at once is read whole, lines longer than that included", () => {
  const rows = Array.from({ length: 5000 }, (_, row) => `a{path="/items/${row}",code="200"} ${row * 7}\n`);
  rows.splice(2500, 0, `a{path="${"x".repeat(MAX_LOADED_BYTES * 2)}",code="200"} 1\n`, "no metrics\n");
  const { families, broken } = read([`# HELP a Text.\n# TYPE a counter\n${rows.join("")}b 1\n`]);
  const samples = rows.filter((row) => row !== "no metrics\n").join("");
  expect(families.map(({ header }) => header)).toEqual(["a counter", "b untyped"]);
  expect(families[0]?.samples === samples).toBe(true);
  expect(broken).toBe(1);
});

test("lines alike are read as if each came alone", () => {
  const value = fc.oneof(fc.constantFrom("", "GET", "\\\\", "grün", "\\x"), fc.stringMatching(/^[a-z0-9]{0,12}$/));
  const number = fc.constantFrom("1", "17", "0.25", "1 1500", "", "x");
  const sample = fc
    .tuple(fc.constantFrom("a", "ab", "h_bucket", "h_sum"), value, value, number)
    .map(([name, left, right, shown]) => `${name}{le="${left}",path="${right}"} ${shown}\n`);
  const line = fc.oneof(
    { weight: 8, arbitrary: sample },
    fc.constantFrom("# TYPE h histogram\n", "# TYPE a gauge\n", "a 1\n"),
  );
  fc.assert(
    fc.property(fc.array(line), fc.constantFrom("text", "openmetrics"), (lines, to) => {
      expect(read([lines.join("")], { to })).toEqual(read(lines, { to }));
    }),
    { numRuns: 500 },
  );
});
