import fc from "fast-check";
import type { FieldEntry, FieldType, MessageTable, ScalarCode } from "../../../src/protobuf/message-tables.ts";

/** Documents that use some members of the message, by either of their names. */
export function arbitraryMessage(table: MessageTable, depth = 3): fc.Arbitrary<Record<string, unknown>> {
  const usable = [...table.byName.values()].filter(({ type }) => depth > 0 || type.kind !== "message");
  const member = (field: FieldEntry) =>
    fc
      .tuple(fc.constantFrom(field.name, field.protoName), arbitraryField(field, depth))
      .map(([key, value]) => ({ [key]: value }));
  return fc
    .subarray(usable, { maxLength: Math.min(4, usable.length) })
    .map(oneOfEachGroup)
    .chain((chosen) => fc.tuple(...chosen.map(member)))
    .map((members) => Object.assign({}, ...members));
}

function oneOfEachGroup(fields: readonly FieldEntry[]): readonly FieldEntry[] {
  return fields.filter(({ oneof }, at) => oneof === 0 || fields.findIndex((other) => other.oneof === oneof) === at);
}

function arbitraryField({ shape, type, key }: FieldEntry, depth: number): fc.Arbitrary<unknown> {
  const one = arbitraryValue(type, depth);
  if (shape === "list") return fc.array(one, { maxLength: 3 });
  if (shape === "one") return one;
  const keys = key === "s" ? fc.stringMatching(/^[a-z]{1,3}x$/) : fc.integer({ min: 0, max: 65_535 }).map(String);
  return fc.dictionary(keys, one, { maxKeys: 3 });
}

function arbitraryValue(type: FieldType, depth: number): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case "message":
      return arbitraryMessage(type.table, depth - 1);
    case "enum":
      return fc.constantFrom(...type.table.numbers.keys());
    case "duration":
      return fc.integer({ min: 0, max: 10 ** 9 }).map((milliseconds) => `${milliseconds / 1000}s`);
    case "scalar":
    case "wrapper":
      return arbitraryScalar(type.code);
    default:
      return fc.constantFrom({ a: [1, "x"] }, { b: { c: true } });
  }
}

function arbitraryScalar(code: ScalarCode): fc.Arbitrary<unknown> {
  switch (code) {
    case "s":
      return fc.oneof(fc.string(), fc.constantFrom("yes", "1", "", "a: b", "[::1]:1", "x\ny\n", " x"));
    case "y":
      return fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString("base64"));
    case "b":
      return fc.boolean();
    case "i":
      return fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
    case "u":
      return fc.integer({ min: 0, max: 2 ** 32 - 1 });
    case "I":
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
    case "U":
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
    case "f":
      return fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value));
    case "d":
      return fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value));
  }
}
