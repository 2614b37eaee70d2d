import fc from "fast-check";
import { expect, test } from "vitest";
import {
  bool,
  bytes,
  double,
  int64,
  map,
  message,
  nested,
  repeated,
  repeatedString,
  string,
  uint32,
} from "./message.ts";
import { WireError } from "./wire-reader.ts";

const inner = message({ name: string(1), count: uint32(2) });
const outer = message({
  text: string(1),
  flag: bool(2),
  number: uint32(3),
  big: int64(4),
  ratio: double(5),
  data: bytes(6),
  one: nested(7, inner),
  names: repeatedString(8),
  many: repeated(9, inner),
  table: map(10, nested(2, inner)),
  last: string(1000),
});

test("known bytes of the format are read: field 1 string, field 3 varint 150", () => {
  const decoded = outer.decode(Buffer.from("0a0774657374696e671896" + "01", "hex"));
  expect(decoded).toMatchObject({ text: "testing", number: 150 });
});

test("zero values are not sent", () => {
  expect(outer.encode({ text: "", flag: false, number: 0, big: 0n, ratio: 0, data: Buffer.alloc(0) })).toHaveLength(0);
});

test("an absent message member is undefined, a present empty one is not", () => {
  expect(outer.decode(outer.encode({})).one).toBeUndefined();
  expect(outer.decode(outer.encode({ one: {} })).one).toEqual({ name: "", count: 0 });
});

test("unknown fields of every wire type are skipped", () => {
  const later = message({ a: uint32(20), b: double(21), c: string(22), text: string(1) });
  expect(outer.decode(later.encode({ a: 1, b: 2, c: "x", text: "kept" })).text).toBe("kept");
});

test("a field with an unexpected wire type is skipped, not misread", () => {
  const other = message({ text: uint32(1), last: string(1000) });
  expect(outer.decode(other.encode({ text: 5, last: "end" }))).toMatchObject({ text: "", last: "end" });
});

test("negative 64-bit values survive", () => {
  expect(outer.decode(outer.encode({ big: -5n })).big).toBe(-5n);
});

const innerValue = fc.record({ name: fc.string(), count: fc.nat() });
test("decoding inverts encoding", () => {
  const value = fc.record({
    text: fc.string({ unit: "binary" }),
    flag: fc.boolean(),
    number: fc.nat(0xffffffff),
    big: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    ratio: fc.double({ noNaN: true }).map((number) => number + 0),
    data: fc.uint8Array().map((array) => Buffer.from(array)),
    one: fc.option(innerValue, { nil: undefined }),
    names: fc.array(fc.string()),
    many: fc.array(innerValue),
    table: fc.array(fc.tuple(fc.string(), innerValue)).map((entries) => new Map(entries)),
    last: fc.string(),
  });
  fc.assert(
    fc.property(value, (original) => {
      expect(outer.decode(outer.encode(original))).toEqual(original);
    }),
  );
});

test("random bytes give a message or a wire error, never another throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (input) => {
      try {
        outer.decode(Buffer.from(input));
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(WireError);
      }
    }),
    { numRuns: 2000 },
  );
});
