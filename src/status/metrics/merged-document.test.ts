import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { FamilyReader } from "../../protocol/prometheus/family-reader.ts";
import type { PrometheusFormat } from "../../protocol/prometheus/sample-line.ts";
import { createBlockPool } from "./block-pool.ts";
import { BlockWriter } from "./block-writer.ts";
import { type Drop, indexBody } from "./family-index.ts";
import { createMergedDocument } from "./merged-document.ts";

/** A document of families that are known as a whole, and what was left out of it. */
function begin(knownText: string, format: PrometheusFormat = "text") {
  const chunks: Buffer[] = [];
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  const dropped: Record<string, number> = {};
  const drop: Drop = (what, count) => {
    dropped[what] = (dropped[what] ?? 0) + count;
  };
  const options = { from: format, to: format, isTrusted: false };
  const known = indexBody([Buffer.from(knownText)], options, drop);
  const document = createMergedDocument({ format, out: new BlockWriter(output, createBlockPool(4)), known });
  return {
    document,
    dropped,
    writeKnown: (...names: readonly string[]) => document.writeKnown(names.length === 0 ? known.keys() : names, drop),
    /** A body that is read as it comes. */
    pass: (text: string) => {
      const reader = new FamilyReader(document.sink(drop), options);
      reader.push(Buffer.from(text));
      reader.end(true);
    },
    text: () => {
      document.finish();
      return Buffer.concat(chunks).toString();
    },
  };
}

const A = "# HELP a About a.\n# TYPE a counter\na 1\n";
const B = "# TYPE b gauge\nb 2\n";

describe("families that are known", () => {
  test("are written in the order asked for, each with its head", () => {
    const { writeKnown, text } = begin(A + B);
    writeKnown("b", "a");
    expect(text()).toBe(B + A);
  });

  test("are written once, however often they are asked for", () => {
    const { writeKnown, text } = begin(A + B);
    writeKnown("a");
    writeKnown("a", "b", "unknown");
    expect(text()).toBe(A + B);
  });

  test.each([
    {
      name: "a histogram's count",
      first: '# TYPE a histogram\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
      clash: "a_count",
    },
    { name: "a summary's sum", first: "# TYPE a summary\na_sum 1\na_count 1\n", clash: "a_sum" },
  ])("that are called like $name are left out", ({ first, clash }) => {
    const { writeKnown, text, dropped } = begin(`${first}${B}`);
    writeKnown("a");
    const other = begin(`# TYPE ${clash} gauge\n${clash} 7\n${first}`);
    other.writeKnown(clash, "a");
    expect(other.text()).toBe(`# TYPE ${clash} gauge\n${clash} 7\n`);
    expect(other.dropped).toEqual({ family: 1 });
    expect(text()).toBe(first);
    expect(dropped).toEqual({});
  });
});

describe("a body that is passed on as it comes", () => {
  test("goes through as it is when nothing is known", () => {
    const { pass, text, dropped } = begin("");
    pass(A + B);
    expect(text()).toBe(A + B);
    expect(dropped).toEqual({});
  });

  test("loses families that were written before", () => {
    const { writeKnown, pass, text, dropped } = begin(A);
    writeKnown();
    pass(`# TYPE a counter\na{x="1"} 9\n${B}`);
    expect(text()).toBe(A + B);
    expect(dropped).toEqual({ family: 1 });
  });

  test("is joined with a family that is known and not written yet, whose series win", () => {
    const { pass, writeKnown, text, dropped } = begin('# TYPE a counter\na{x="1"} 100\n');
    pass('# HELP a Streamed.\n# TYPE a counter\na{x="1"} 1\na{x="2"} 2\n');
    writeKnown();
    expect(text()).toBe('# HELP a Streamed.\n# TYPE a counter\na{x="1"} 100\na{x="2"} 2\n');
    expect(dropped).toEqual({ series: 1 });
  });

  test("stays when a known family of another type has its name, which then is left out", () => {
    const { pass, writeKnown, text, dropped } = begin("# TYPE a gauge\na 100\n");
    pass("# TYPE a counter\na 1\n");
    writeKnown();
    expect(text()).toBe("# TYPE a counter\na 1\n");
    expect(dropped).toEqual({ family: 1 });
  });

  test("loses its own repetition of a family", () => {
    const { pass, text, dropped } = begin("");
    pass(`${A}${B}# TYPE a counter\na{x="1"} 2\n`);
    expect(text()).toBe(A + B);
    expect(dropped).toEqual({ family: 1 });
  });

  test("of a second source is distinguished from the first one's", () => {
    const { pass, text } = begin("");
    pass(A);
    pass(A + B);
    expect(text()).toBe(A + B);
  });
});

describe("heads", () => {
  test("of the text format show quotes as they are", () => {
    const { writeKnown, text } = begin('# HELP a Says \\"x\\".\n# TYPE a gauge\na 1\n');
    writeKnown();
    expect(text()).toBe('# HELP a Says "x".\n# TYPE a gauge\na 1\n');
  });

  test.each([
    { name: "a_seconds", unit: "seconds", line: "# UNIT a_seconds seconds\n" },
    { name: "a", unit: "seconds", line: "" },
  ])("of OpenMetrics have the unit $unit of $name where the name ends with it", ({ name, unit, line }) => {
    const { writeKnown, text } = begin(`# TYPE ${name} gauge\n# UNIT ${name} ${unit}\n${name} 1\n`, "openmetrics");
    writeKnown();
    expect(text()).toBe(`# TYPE ${name} gauge\n${line}${name} 1\n# EOF\n`);
  });
});
