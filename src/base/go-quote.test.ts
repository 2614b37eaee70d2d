import { expect, test } from "vitest";
import { quoteGo } from "./go-quote.ts";

test.each([
  { text: "plain", quoted: '"plain"' },
  { text: 'a"b\\c', quoted: '"a\\"b\\\\c"' },
  { text: "tab\tnewline\n", quoted: '"tab\\tnewline\\n"' },
  { text: "\u0000\u001b\u007f", quoted: '"\\x00\\x1b\\x7f"' },
  { text: "grün 日本", quoted: '"grün 日本"' },
  { text: "\u200b", quoted: '"\\u200b"' },
  { text: "\u{e0001}", quoted: '"\\U000e0001"' },
  { text: "a,b [c]", quoted: '"a,b [c]"' },
])("$quoted", ({ text, quoted }) => {
  expect(quoteGo(text)).toBe(quoted);
});
