import fc from "fast-check";
import { expect, test } from "vitest";
import { exactInteger, parseExactJson, stringifyExactJson } from "./exact-json.ts";

/** JSON values with integers of any size; no -0, which JSON.stringify writes as 0, and no large doubles, which it writes as integers. */
const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.string({ unit: "binary" }),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(exactInteger),
    fc.double({ min: -(2 ** 50), max: 2 ** 50, noNaN: true }).map((number) => (Object.is(number, -0) ? 0 : number)),
    fc.constantFrom(null, true, false, "#", '"#', "##1", "#12345678901234567890"),
    fc.array(tie("value")),
    fc.dictionary(fc.oneof(fc.string(), fc.constant("__proto__")), tie("value")),
  ),
})).value;

test("what was written is read again, integers of any size included", () => {
  fc.assert(
    fc.property(anyValue, fc.constantFrom(undefined, 2), (value, indent) => {
      expect(parseExactJson(stringifyExactJson(value, indent))).toEqual(value);
    }),
  );
});

test("rounded to doubles it is what JSON.parse gives", () => {
  fc.assert(
    fc.property(
      fc.json(),
      fc.constantFrom("", ', "1234567890123456"', " , -0.12345678901234567e-3\t"),
      (json, more) => {
        const text = `[${json}${more}]`;
        expect(rounded(parseExactJson(text))).toEqual(rounded(JSON.parse(text)));
      },
    ),
  );
});

test.each([
  ["9223372036854775807", 9223372036854775807n],
  ["[-9007199254740993]", [-9007199254740993n]],
  ["9007199254740991", 9007199254740991],
  [
    '{"a":{"b":[18446744073709551615,1]},"c":"18446744073709551615"}',
    { a: { b: [18446744073709551615n, 1] }, c: "18446744073709551615" },
  ],
  ["[1234567890123456.5, 5e100]", [1234567890123456.5, 5e100]],
])("%s is read exactly", (text, value) => {
  expect(parseExactJson(text)).toEqual(value);
});

test("a key that would change the prototype is a member like others, beside a large number too", () => {
  const value = parseExactJson('{"__proto__":{"x":1},"n":9007199254740993}') as object;
  expect(Object.keys(value)).toEqual(["__proto__", "n"]);
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
});

test.each([
  '{"a":9007199254740993',
  "9007199254740993x",
  "[9007199254740993,]",
  "",
  "09007199254740993",
  "[1e400]",
  "-1E+999",
])("%s is refused", (text) => {
  expect(() => parseExactJson(text)).toThrow(SyntaxError);
});

test("a value that refers to itself is refused", () => {
  const circle: { self?: unknown; big: bigint } = { big: 1n };
  circle.self = circle;
  expect(() => stringifyExactJson(circle)).toThrow(TypeError);
});

/** Objects as their members, so that a member called `__proto__` is compared too. */
function rounded(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value).map(([key, item]) => [key, rounded(item)]);
}

test.each([
  { name: "lists", text: (depth: number) => "[".repeat(depth) + "]".repeat(depth) },
  { name: "objects", text: (depth: number) => `${'{"a":'.repeat(depth)}{}${"}".repeat(depth)}` },
  {
    name: "a large number in lists",
    text: (depth: number) => `${"[".repeat(depth)}9007199254740993${"]".repeat(depth)}`,
  },
])("$name thousands deep are refused with the limit, however deep", ({ text }) => {
  expect(() => parseExactJson(text(400))).not.toThrow();
  for (const depth of [600, 20_000, 1_000_000])
    expect(() => parseExactJson(text(depth))).toThrow("json: nested too deeply, at most 500 levels are allowed");
});

test("a value thousands of levels deep is not printed, and the error names the limit", () => {
  let value: unknown = 9007199254740993n;
  for (let depth = 0; depth < 100_000; depth += 1) value = [value];
  expect(() => stringifyExactJson(value)).toThrow("json: nested too deeply, at most 500 levels are allowed");
});
