import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { quoteGo, quoteGoChar, unquoteGo } from "../base/go-quote.ts";
import { parsePodInfo } from "./pod-info.ts";

describe("pod info files", () => {
  test.each([
    { what: "an empty file", text: "", entries: {} },
    { what: "one label", text: 'foo="bar"\n', entries: { foo: "bar" } },
    {
      what: "a value with line breaks",
      text: 'config="foo: bar\\nother: setting"',
      entries: { config: "foo: bar\nother: setting" },
    },
    { what: "a value with an equals sign", text: 'a="b=c"', entries: { a: "b=c" } },
    { what: "an unusual key", text: 'a1_-.as1="x"', entries: { "a1_-.as1": "x" } },
    { what: "keys that are not trimmed", text: ' a="1"\nb ="2"\n="3"', entries: { " a": "1", "b ": "2", "": "3" } },
    { what: "lines without an equals sign", text: 'nothing\nfoo="bar"', entries: { foo: "bar" } },
    { what: "a raw string and a character", text: "a=`x\\n`\nb='c'", entries: { a: "x\\n", b: "c" } },
    { what: "a key named __proto__", text: '__proto__="x"', entries: JSON.parse('{"__proto__":"x"}') },
  ])("$what", ({ text, entries }) => {
    expect(Object.fromEntries(parsePodInfo(text).entries)).toEqual(entries);
    expect(parsePodInfo(text).problems).toEqual([]);
  });

  test("a carriage return breaks the value", () => {
    const message = 'failed to unquote "1"\r: invalid syntax';
    expect(parsePodInfo('a="1"\r\n').problems).toEqual([{ line: 1, message }]);
  });

  test("good lines count, and the others are reported with their numbers", () => {
    const { entries, problems } = parsePodInfo('a="1"\nb=2\nc="3"');
    expect([...entries]).toEqual([
      ["a", "1"],
      ["c", "3"],
    ]);
    expect(problems).toEqual([{ line: 2, message: "failed to unquote 2: invalid syntax" }]);
  });
});

describe("Go's quoted text", () => {
  test.each([
    ['"a\\tb\\\\\\""', 'a\tb\\"'],
    ['"\\x41\\u00e9\\U0001F600\\101"', "Aé😀A"],
    ['"\\xc3\\xa9"', "é"],
    ['"\\xff"', "\ufffd"],
    ["`a\\n`", "a\\n"],
    ["'\\''", "'"],
    ["'é'", "é"],
  ])("%s unquotes to %j", (quoted, value) => {
    expect(unquoteGo(quoted)).toBe(value);
  });

  test.each([
    "",
    '"',
    "a",
    '"a',
    '"a"b"',
    '"\\q"',
    '"\\\'"',
    "'ab'",
    "''",
    '"\\u12"',
    '"\\400"',
    '"\\ud800"',
    "`a`b`",
    '"a\nb"',
  ])("%j is not a quoted text", (text) => {
    expect(unquoteGo(text)).toBeUndefined();
  });

  test.each([
    ['a\n\t"\\', '"a\\n\\t\\"\\\\"'],
    ["\x00\x7f", '"\\x00\\x7f"'],
    ["é😀", '"é😀"'],
    ["\u200b\u{e0001}", '"\\u200b\\U000e0001"'],
  ])("%j is quoted as %s", (text, quoted) => {
    expect(quoteGo(text)).toBe(quoted);
  });

  test("a character is quoted alone", () => {
    expect([quoteGoChar(97), quoteGoChar(39), quoteGoChar(-1)]).toEqual(["'a'", "'\\''", "'\ufffd'"]);
  });

  test("unquoting inverts quoting", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(unquoteGo(quoteGo(text))).toBe(text);
      }),
    );
  });

  test("a file of quoted values gives them back", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z./-]{1,20}$/), fc.string({ unit: "grapheme" })), (labels) => {
        const file = Object.entries(labels)
          .map(([key, value]) => `${key}=${quoteGo(value)}\n`)
          .join("");
        expect(Object.fromEntries(parsePodInfo(file).entries)).toEqual({ ...labels });
      }),
    );
  });

  test("any text unquotes or does not, without throwing", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void unquoteGo(text)));
  });
});
