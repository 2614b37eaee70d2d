import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { queryBytes } from "../../../test/support/dns/client.ts";
import { aRecord, encodeMessage, encodeName, optRecord } from "../../../test/support/dns/message.ts";
import { createQueryView, readQuery, udpLimit } from "./query.ts";

const view = createQueryView();
const question = { name: "a.b." };

describe("a query", () => {
  test("yields its name in lower case, type, class and the end of the question", () => {
    const bytes = queryBytes({ name: "Www.Example.COM.", type: 28, class: 3 });
    expect(readQuery(bytes, view)).toBe("query");
    expect(view).toMatchObject({
      name: "www.example.com.",
      type: 28,
      class: 3,
      questionEnd: bytes.length,
      udpBytes: 0,
    });
    expect(udpLimit(view)).toBe(512);
  });

  test("for the root has the name '.'", () => {
    expect(readQuery(queryBytes({ name: "." }), view)).toBe("query");
    expect(view.name).toBe(".");
  });

  test("with odd bytes in a label has an escaped name", () => {
    const odd = Buffer.concat([
      queryBytes({ name: "." }).subarray(0, 12),
      Buffer.from("\x03a.B\x02\\ \0\0\x01\0\x01", "latin1"),
    ]);
    expect(readQuery(odd, view)).toBe("query");
    expect(view.name).toBe("a\\.b.\\\\\\032.");
  });

  test.each([
    { announced: 100, limit: 512 },
    { announced: 1232, limit: 1232 },
    { announced: 65_535, limit: 65_535 },
  ])("that announces $announced bytes is limited to $limit", ({ announced, limit }) => {
    expect(readQuery(queryBytes({ name: "a.", edns: announced }), view)).toBe("query");
    expect(udpLimit(view)).toBe(limit);
  });

  test("keeps the DNSSEC bit of its OPT record apart from an earlier query's", () => {
    readQuery(encodeMessage({ questions: [question], additionals: [optRecord(1232, 0x8000)] }), view);
    expect(view).toMatchObject({ dnssecOk: true, udpBytes: 1232 });
    readQuery(encodeMessage({ questions: [question] }), view);
    expect(view).toMatchObject({ dnssecOk: false, udpBytes: 0 });
  });

  test.each([
    { what: "nothing", options: "", verdict: "query" },
    { what: "an empty one", options: "000a0000", verdict: "query" },
    { what: "a cookie", options: "000a00080102030405060708", verdict: "query" },
    { what: "two", options: "000a000101000c0000", verdict: "query" },
    { what: "one without its length", options: "000a00", verdict: "format-error" },
    { what: "one that is longer than the record", options: "000a000901", verdict: "format-error" },
    { what: "a whole one and a piece", options: "000a000101ff", verdict: "format-error" },
  ])("with $what for options is a $verdict", ({ options, verdict }) => {
    const opt = optRecord(1232, 0, Buffer.from(options, "hex"));
    expect(readQuery(encodeMessage({ questions: [question], additionals: [opt] }), view)).toBe(verdict);
  });

  test("takes an OPT record only in the additional section", () => {
    expect(readQuery(encodeMessage({ questions: [question], answers: [optRecord(4096)] }), view)).toBe("query");
    expect(view.udpBytes).toBe(0);
  });
});

describe("unusual packets", () => {
  const header = (counts: readonly number[], flags = 0) =>
    Buffer.concat([Buffer.of(0, 7, flags, 0), ...counts.map((count) => Buffer.of(0, count))]);
  const named = Buffer.concat([encodeName("a.b."), Buffer.of(0, 1, 0, 1)]);
  const whole = (counts: readonly number[], ...rest: readonly Buffer[]) =>
    Buffer.concat([header(counts), named, ...rest]);
  const record = encodeMessage({ answers: [aRecord("x.", "1.2.3.4")] }).subarray(12);
  test.each([
    { what: "fewer than 12 bytes", bytes: Buffer.alloc(11), verdict: "ignore" },
    { what: "a reply", bytes: encodeMessage({ flags: ["qr"], questions: [question] }), verdict: "ignore" },
    { what: "opcode 5", bytes: encodeMessage({ opcode: 5, questions: [question] }), verdict: "not-implemented" },
    { what: "a NOTIFY", bytes: encodeMessage({ opcode: 4, questions: [question] }), verdict: "query" },
    { what: "no question", bytes: encodeMessage({}), verdict: "format-error" },
    { what: "two questions", bytes: encodeMessage({ questions: [question, question] }), verdict: "format-error" },
    { what: "two answers", bytes: whole([1, 2, 0, 0]), verdict: "format-error" },
    { what: "two authorities", bytes: whole([1, 0, 2, 0]), verdict: "format-error" },
    { what: "three additionals", bytes: whole([1, 0, 0, 3]), verdict: "format-error" },
    { what: "a header alone", bytes: header([1, 0, 0, 0]), verdict: "refused" },
    { what: "promised records that are not there", bytes: whole([1, 1, 1, 2]), verdict: "query" },
    { what: "one of two promised records", bytes: whole([1, 0, 0, 2], record), verdict: "query" },
    { what: "half a record", bytes: whole([1, 0, 0, 1], record.subarray(0, 8)), verdict: "format-error" },
    { what: "a record whose data is cut", bytes: whole([1, 0, 0, 1], record.subarray(0, -1)), verdict: "format-error" },
    { what: "bytes after the last record", bytes: whole([1, 0, 0, 0], Buffer.from("junk")), verdict: "query" },
    { what: "a question that ends in its type", bytes: whole([1, 0, 0, 0]).subarray(0, -3), verdict: "format-error" },
    {
      what: "a name that ends nowhere",
      bytes: Buffer.concat([header([1, 0, 0, 0]), Buffer.of(3, 97)]),
      verdict: "format-error",
    },
    {
      what: "a compressed question",
      bytes: Buffer.concat([header([1, 0, 0, 0]), Buffer.of(0xc0, 12, 0, 1, 0, 1)]),
      verdict: "format-error",
    },
    {
      what: "a loop in a record",
      bytes: whole([1, 0, 0, 1], Buffer.of(0xc0, 21), record.subarray(3)),
      verdict: "format-error",
    },
  ])("$what: $verdict", ({ bytes, verdict }) => {
    expect(readQuery(bytes, view)).toBe(verdict);
  });

  test.each([
    { what: "type", cut: 2, type: 1 },
    { what: "name", cut: 4, type: 0 },
  ])("a question that ends after its $what goes on with zeros", ({ cut, type }) => {
    const bytes = queryBytes({ name: "a.b." });
    expect(readQuery(bytes.subarray(0, -cut), view)).toBe("query");
    expect(view).toMatchObject({ name: "a.b.", type, class: 0, questionEnd: bytes.length });
  });

  test("a format error behind the question still knows the question", () => {
    readQuery(whole([1, 0, 0, 1], record.subarray(0, 8)), view);
    expect(view.questionEnd).toBe(12 + named.length);
    readQuery(Buffer.concat([header([1, 0, 0, 0]), Buffer.of(3, 97)]), view);
    expect(view.questionEnd).toBe(0);
  });

  test("random bytes give a verdict and never an exception", () => {
    const mutated = fc.tuple(fc.uint8Array({ maxLength: 80 }), fc.boolean()).map(([bytes, plausible]) => {
      const message = Buffer.from(bytes);
      if (plausible && message.length > 12) header([1, 0, 0, 1]).copy(message, 0);
      return message;
    });
    fc.assert(
      fc.property(mutated, (bytes) => {
        const verdict = readQuery(bytes, view);
        expect(["query", "ignore", "format-error", "not-implemented", "refused"]).toContain(verdict);
        if (verdict === "query") expect(view.questionEnd).toBeGreaterThan(12);
      }),
      { numRuns: 2_000 },
    );
  });
});
