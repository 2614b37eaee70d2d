import fc from "fast-check";
import { expect, test } from "vitest";
import { parseBool, parseInteger } from "./parse-scalar.ts";

test.each([
  { words: ["1", "t", "T", "TRUE", "true", "True"], value: true },
  { words: ["0", "f", "F", "FALSE", "false", "False"], value: false },
])("$words are $value", ({ words, value }) => {
  expect(words.map(parseBool)).toEqual(words.map(() => value));
});

test.each(["", "yes", "no", "on", "tRUE", " true", "2", "truE"])("'%s' is not a boolean", (text) => {
  expect(() => parseBool(text)).toThrow(`strconv.ParseBool: parsing "${text}": invalid syntax`);
});

test.each([
  { text: "0", value: 0 },
  { text: "-0", value: -0 },
  { text: "+7", value: 7 },
  { text: "0x10", value: 16 },
  { text: "-0X1f", value: -31 },
  { text: "0b101", value: 5 },
  { text: "0o17", value: 15 },
  { text: "017", value: 15 },
  { text: "1_000", value: 1000 },
  { text: "0x_ff", value: 255 },
  { text: "0_7", value: 7 },
])("$text is $value", ({ text, value }) => {
  expect(parseInteger(text, 64, true) + 0).toBe(value + 0);
});

test.each(["", "abc", " 1", "1 ", "1.5", "1e3", "0x", "0b2", "08", "1__0", "_1", "1_", "--1", "+", "0x-1"])(
  "'%s' is no integer",
  (text) => {
    expect(() => parseInteger(text, 64, true)).toThrow(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  },
);

test.each([
  { bits: 16, signed: false, least: "0", most: "65535", beyond: ["65536"] },
  { bits: 32, signed: true, least: "-2147483648", most: "2147483647", beyond: ["2147483648", "-2147483649"] },
  { bits: 64, signed: true, least: "-9", most: "9", beyond: ["9223372036854775808", "-9223372036854775809"] },
] as const)("$bits bits, signed $signed: from $least to $most", ({ bits, signed, least, most, beyond }) => {
  expect([parseInteger(least, bits, signed), parseInteger(most, bits, signed)]).toEqual([Number(least), Number(most)]);
  for (const text of beyond) expect(() => parseInteger(text, bits, signed)).toThrow("value out of range");
});

test("an unsigned integer has no sign", () => {
  for (const text of ["-1", "+1"])
    expect(() => parseInteger(text, 16, false)).toThrow(`strconv.ParseUint: parsing "${text}": invalid syntax`);
});

test("every integer survives in decimal, hexadecimal, octal and binary", () => {
  fc.assert(
    fc.property(fc.integer(), (value) => {
      const [sign, size] = [value < 0 ? "-" : "", Math.abs(value)];
      const forms = [`${size}`, `0x${size.toString(16)}`, `0o${size.toString(8)}`, `0b${size.toString(2)}`];
      for (const form of forms) expect(parseInteger(sign + form, 64, true) + 0).toBe(value + 0);
    }),
  );
});
