import fc from "fast-check";
import { expect, test } from "vitest";
import { createEnvoyMessages } from "../../../test/support/xds/envoy-messages.ts";
import { memberBytes } from "./edit-members.ts";
import { decodeStruct, decodeValue, encodeStruct, type JsonObject, type JsonValue } from "./struct.ts";
import { WireError } from "./wire-reader.ts";
import { WireWriter } from "./wire-writer.ts";

test("a Struct written by another implementation is read", () => {
  const foreign = createEnvoyMessages().packAny({
    "@type": "type.googleapis.com/udpa.type.v1.TypedStruct",
    type_url: "t",
    value: { text: "a", number: 1.5, yes: true, nothing: null, list: [1, "b", { deep: [] }], object: { empty: {} } },
  });
  const struct = memberBytes(Buffer.from(foreign.value), 2) ?? Buffer.alloc(0);
  expect(JSON.parse(JSON.stringify(decodeStruct(struct)))).toEqual({
    text: "a",
    number: 1.5,
    yes: true,
    nothing: null,
    list: [1, "b", { deep: [] }],
    object: { empty: {} },
  });
});

test("decoding inverts encoding for any JSON object", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (original) => {
      const plain: unknown = JSON.parse(JSON.stringify(original));
      expect(JSON.parse(JSON.stringify(decodeStruct(encodeStruct(plain as JsonObject))))).toEqual(plain);
    }),
  );
});

test("a large integer is rounded to the double that a Struct has room for", () => {
  expect(decodeStruct(encodeStruct({ a: [2n ** 53n + 1n] })).a).toEqual([2 ** 53]);
});

test("a member named __proto__ is a member and nothing else", () => {
  const decoded = decodeStruct(encodeStruct(JSON.parse('{"__proto__": {"polluted": true}}')));
  expect(Object.keys(decoded)).toEqual(["__proto__"]);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test("an empty value and an entry without value are null", () => {
  expect(decodeValue(Buffer.alloc(0))).toBeNull();
  expect(decodeStruct(Buffer.from([0x0a, 3, 0x0a, 1, 0x61]))).toEqual({ a: null });
});

test("nesting without end is refused instead of ending the process", () => {
  let value: JsonValue = "core";
  for (let depth = 0; depth < 99; depth += 1) value = { a: value };
  expect(() => decodeStruct(encodeStruct({ a: value }))).not.toThrow();
  let bytes = Buffer.alloc(0);
  for (let depth = 0; depth < 5001; depth += 1) {
    const writer = new WireWriter();
    writer.bytes(depth % 2 === 0 ? 6 : 1, bytes);
    bytes = Buffer.from(writer.finish());
  }
  expect(() => decodeValue(bytes)).toThrow(WireError);
});

test("random bytes give an object or a wire error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (input) => {
      try {
        decodeStruct(Buffer.from(input));
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(WireError);
      }
    }),
    { numRuns: 1000 },
  );
});
