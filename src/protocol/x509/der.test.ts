import fc from "fast-check";
import { expect, test } from "vitest";
import { DerReader } from "./der-reader.ts";
import {
  bitString,
  boolean,
  context,
  contextPrimitive,
  element,
  octetString,
  oid,
  sequence,
  set,
  smallInteger,
  TAG,
  time,
  unsignedInteger,
  utf8String,
} from "./der-writer.ts";
import { X509Error } from "./x509-error.ts";

test.each([
  { what: "a short element", bytes: octetString(Buffer.from("ab")), hex: "04026162" },
  { what: "a length of 128", bytes: octetString(Buffer.alloc(128)).subarray(0, 3), hex: "048180" },
  { what: "a length of 256", bytes: octetString(Buffer.alloc(256)).subarray(0, 4), hex: "04820100" },
  { what: "a length of 65536", bytes: octetString(Buffer.alloc(65536)).subarray(0, 5), hex: "0483010000" },
  { what: "zero", bytes: smallInteger(0), hex: "020100" },
  { what: "an integer whose high bit is set", bytes: unsignedInteger(Buffer.of(0, 0, 0x80)), hex: "02020080" },
  { what: "an integer of no bytes", bytes: unsignedInteger(Buffer.alloc(0)), hex: "020100" },
  { what: "an object identifier", bytes: oid("1.2.840.113549"), hex: "06062a864886f70d" },
  { what: "an object identifier below 2", bytes: oid("2.5.29.17"), hex: "0603551d11" },
  { what: "true", bytes: boolean(true), hex: "0101ff" },
  { what: "named bits", bytes: bitString(Buffer.of(0b1010_0000), 5), hex: "030205a0" },
  { what: "text", bytes: utf8String("é"), hex: "0c02c3a9" },
  { what: "a set in a context tag", bytes: context(3, set()), hex: "a3023100" },
  { what: "a primitive context tag", bytes: contextPrimitive(6, Buffer.from("x")), hex: "860178" },
])("$what is written as $hex", ({ bytes, hex }) => {
  expect(bytes.toString("hex")).toBe(hex);
});

test.each([
  { iso: "2026-11-15T22:07:35.999Z", text: "261115220735Z", tag: TAG.utcTime },
  { iso: "2049-12-31T23:59:59.000Z", text: "491231235959Z", tag: TAG.utcTime },
  { iso: "2050-01-01T00:00:00.000Z", text: "20500101000000Z", tag: TAG.generalizedTime },
  { iso: "1950-01-01T00:00:00.000Z", text: "500101000000Z", tag: TAG.utcTime },
])("the time $iso is written as $text and read back to the second", ({ iso, text, tag }) => {
  const bytes = time(new Date(iso));
  expect({ tag: bytes[0], text: bytes.subarray(2).toString() }).toEqual({ tag, text });
  expect(new DerReader(bytes).time()).toEqual(new Date(`${iso.slice(0, 19)}.000Z`));
});

test.each(["3.1", "1.40", "1", "", "1.2.x", "1.-2"])("%j is refused as an object identifier", (dotted) => {
  expect(() => oid(dotted)).toThrow(X509Error);
});

test.each([
  { what: "no content", hex: "0405" },
  { what: "an indefinite length", hex: "30800000" },
  { what: "a length not in its shortest form", hex: "048102aabb" },
  { what: "a length of five bytes", hex: "04850000000001aa" },
  { what: "a tag of several bytes", hex: "1f8100" },
  { what: "nothing at all", hex: "" },
])("an element with $what is refused", ({ hex }) => {
  expect(() => new DerReader(Buffer.from(hex, "hex")).next()).toThrow(X509Error);
});

test("reading inverts writing for any content and depth", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }), (contents) => {
      const reader = new DerReader(sequence(...contents.map((content) => octetString(content)))).sequence();
      for (const content of contents) expect(reader.expect(TAG.octetString).content).toEqual(Buffer.from(content));
      reader.end();
    }),
  );
});

test("reading inverts writing for object identifiers", () => {
  const arcs = fc.tuple(fc.nat(2), fc.nat(39), fc.array(fc.nat(), { maxLength: 8 }));
  fc.assert(
    fc.property(arcs, ([first, second, rest]) => {
      const dotted = [first, second, ...rest].join(".");
      expect(new DerReader(oid(dotted)).oid()).toBe(dotted);
    }),
  );
});

test("an integer keeps its value and takes the fewest bytes", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 200n }), (value) => {
      const hex = value.toString(16);
      const { content } = new DerReader(
        unsignedInteger(Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex")),
      ).expect(TAG.integer);
      expect(BigInt(`0x${content.toString("hex")}`)).toBe(value);
      expect(content.length === 1 || content[0] !== 0 || (content[1] ?? 0) >= 0x80).toBe(true);
    }),
  );
});

test("random bytes give elements or an X509Error, never another throw, and what was read is part of the input", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (input) => {
      const reader = new DerReader(Buffer.from(input));
      try {
        let size = 0;
        while (!reader.atEnd) size += reader.next().raw.length;
        expect(size).toBe(input.length);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(X509Error);
      }
    }),
    { numRuns: 2000 },
  );
});

test("what was read can be written again, byte for byte", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 2, maxLength: 100 }), (input) => {
      try {
        const { tag, content, raw } = new DerReader(Buffer.from(input)).next();
        expect(element(tag, content)).toEqual(raw);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(X509Error);
      }
    }),
    { numRuns: 2000 },
  );
});

test.each([
  { what: "the 13th month", text: "991301000000Z" },
  { what: "the month before January", text: "990001000000Z" },
  { what: "the 31st of February", text: "990231000000Z" },
  { what: "the 29th of February of a common year", text: "230229000000Z" },
  { what: "the 25th hour", text: "990101240000Z" },
  { what: "the 61st minute", text: "990101006000Z" },
  { what: "a leap second", text: "161231235960Z" },
])("$what is not a time", ({ text }) => {
  expect(() => new DerReader(element(TAG.utcTime, Buffer.from(text))).time()).toThrow("time that does not exist");
});

test("the 29th of February of a leap year is a time", () => {
  expect(new DerReader(element(TAG.utcTime, Buffer.from("240229235959Z"))).time()).toEqual(
    new Date("2024-02-29T23:59:59Z"),
  );
});
