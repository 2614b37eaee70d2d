import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonSyntaxError } from "./json-syntax-error.ts";

test.each([
  { text: "", says: "unexpected end of JSON input" },
  { text: "{", says: "unexpected end of JSON input" },
  { text: '{"a":', says: "unexpected end of JSON input" },
  { text: "[1,", says: "unexpected end of JSON input" },
  { text: "abc", says: "invalid character 'a' looking for beginning of value" },
  { text: "x1", says: "invalid character 'x' looking for beginning of value" },
  { text: "'a'", says: "invalid character '\\'' looking for beginning of value" },
  { text: "12abc", says: "invalid character 'a' after top-level value" },
  { text: "012", says: "invalid character '1' after top-level value" },
  { text: "-", says: "unexpected end of JSON input" },
  { text: "-a", says: "invalid character 'a' in numeric literal" },
  { text: "trye", says: "invalid character 'y' in literal true (expecting 'u')" },
  { text: "nul", says: "unexpected end of JSON input" },
  { text: "truex", says: "invalid character 'x' after top-level value" },
  { text: "{a:1}", says: "invalid character 'a' looking for beginning of object key string" },
  { text: '{"a":x}', says: "invalid character 'x' looking for beginning of value" },
  { text: '{"a":1 "b"}', says: `invalid character '"' after object key:value pair` },
  { text: "[1 2]", says: "invalid character '2' after array element" },
  { text: '{"a":1,}', says: "invalid character '}' looking for beginning of object key string" },
  { text: "[1,]", says: "invalid character ']' looking for beginning of value" },
  { text: "falsy", says: "invalid character 'y' in literal false (expecting 'e')" },
  { text: '{"a" 1}', says: "invalid character '1' after object key" },
  { text: '{"a', says: "unexpected end of JSON input" },
  { text: '"a\\', says: "unexpected end of JSON input" },
  { text: '"a\nb"', says: "invalid character '\\n' in string literal" },
  { text: '"\\x"', says: "invalid character 'x' in string escape code" },
  { text: '"\\u12g4"', says: "invalid character 'g' in \\u hexadecimal character escape" },
  { text: '"\\u12', says: "unexpected end of JSON input" },
  { text: "1.", says: "unexpected end of JSON input" },
  { text: "1.x", says: "invalid character 'x' after decimal point in numeric literal" },
  { text: "1e", says: "unexpected end of JSON input" },
  { text: "1e+x", says: "invalid character 'x' in exponent of numeric literal" },
  { text: "\\", says: "invalid character '\\\\' looking for beginning of value" },
  { text: "\u20ac", says: "invalid character '\u20ac' looking for beginning of value" },
])("$text: $says", ({ text, says }) => {
  expect(jsonSyntaxError(text)).toBe(says);
});

test("valid JSON has no error, anything else has exactly one line", () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string(), fc.stringMatching(/^[{}[\]",:0-9a-z ]*$/)), (text) => {
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      const problem = jsonSyntaxError(text);
      expect(problem === undefined).toBe(valid);
    }),
  );
});

test.each([
  { text: "{}", name: "an object" },
  { text: ' [ 1 , -0.5e+3 , "\\u00e9\\n" , true , null ] ', name: "a list with blanks" },
  { text: "-0", name: "a negative zero" },
])("$name is fine", ({ text }) => {
  expect(jsonSyntaxError(text)).toBeUndefined();
});

test("a text that nests deeper than anybody means is refused, not followed", () => {
  expect(jsonSyntaxError("[".repeat(10_000) + "]".repeat(10_000))).toBeUndefined();
  expect(jsonSyntaxError("[".repeat(10_001))).toBe("exceeded max depth");
  expect(jsonSyntaxError("[".repeat(1_000_000))).toBe("exceeded max depth");
});
