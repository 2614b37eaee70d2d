import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { map, message, nested, string } from "../../../protobuf/wire/message.ts";
import { decodeStruct, encodeStruct } from "../../../protobuf/wire/struct.ts";
import { withoutPullSecret } from "./snapshot.ts";

const NAME = "ISTIO_META_WASM_IMAGE_PULL_SECRET";
const variables = message({ inner: nested(7, message({ keyValues: map(2, string(2)) })), after: string(9) });
const encode = (entries: Readonly<Record<string, string>>) =>
  variables.encode({ inner: { keyValues: new Map(Object.entries(entries)) }, after: "kept" });

test("the secret is written over; every other variable, and what comes after, stays", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.string()), fc.string({ maxLength: 400 }), (others, secret) => {
      fc.pre(![...Object.keys(others), ...Object.values(others), secret].some((text) => text.includes(NAME)));
      const cleaned = withoutPullSecret(encode({ ...others, [NAME]: secret }));
      const filler = "x".repeat(Buffer.byteLength(secret));
      expect(variables.decode(cleaned ?? Buffer.alloc(0))).toEqual(
        variables.decode(encode({ ...others, [NAME]: filler })),
      );
    }),
  );
});

test.each(["", "s", "s".repeat(127), "s".repeat(128), "s".repeat(20_000)])("also inside a Struct, %#", (secret) => {
  const of = (value: string) => ({ config: { vm: [{ key_values: { [NAME]: value, b: "s" } }] }, z: "s" });
  const cleaned = withoutPullSecret(Buffer.from(encodeStruct(of(secret)))) ?? Buffer.alloc(0);
  expect(decodeStruct(cleaned)).toEqual(of("x".repeat(secret.length)));
});

test("two of them are both written over", () => {
  const twice = Buffer.concat([encode({ [NAME]: "secret" }), encode({ [NAME]: "secret" })]);
  expect(withoutPullSecret(twice)?.includes("secret")).toBe(false);
});

test("what has no such variable is the same value", () => {
  const bytes = encode({ ISTIO_META_WASM_IMAGE_PULL_POLICY: "Always" });
  expect(withoutPullSecret(bytes)).toBe(bytes);
  expect(bytes).toEqual(encode({ ISTIO_META_WASM_IMAGE_PULL_POLICY: "Always" }));
});

describe("a form that is not known keeps nothing", () => {
  const key = Buffer.concat([Buffer.from([0x0a, NAME.length]), Buffer.from(NAME)]);
  const value = Buffer.from([0x12, 6, ...Buffer.from("secret")]);
  test.each([
    { is: "the value before the name", bytes: [0x12, key.length + value.length, ...value, ...key, 0x12, 2, 0x0a, 0] },
    { is: "a longer entry", bytes: [0x12, key.length + value.length + 2, ...key, ...value, 0x18, 1] },
    { is: "the name in a text", bytes: [0x0a, NAME.length + 7, ...Buffer.from(`${NAME}=secret`)] },
    { is: "the name alone", bytes: [...Buffer.from(NAME)] },
    { is: "a value that is cut short", bytes: [0x12, key.length + value.length, ...key, ...value.subarray(0, 5)] },
    { is: "a value of another kind", bytes: [0x12, key.length + 2, ...key, 0x10, 1] },
  ])("$is", ({ bytes }) => {
    expect(withoutPullSecret(Buffer.from(bytes))).toBeUndefined();
  });

  test("random bytes around the name give a value or nothing, never the text after it in an entry", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (before, after) => {
        const given = Buffer.concat([before, Buffer.from(NAME), after]);
        const cleaned = withoutPullSecret(given);
        if (cleaned !== undefined) expect(cleaned.length).toBe(before.length + NAME.length + after.length);
      }),
    );
  });
});
