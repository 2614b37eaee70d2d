import { expect, test } from "vitest";
import { convertBootstrapOverride } from "./bootstrap-override.ts";

test.each([
  { what: "a date and minutes", text: "a: 2020-01-01\nb: 1:30\n", gives: '{"a":"2020-01-01","b":"1:30"}' },
  { what: "the last of two equal keys", text: "a: 1\na: 2\n", gives: '{"a":2}' },
  { what: "the first of two documents", text: "a: 1\n---\nb: 2\n", gives: '{"a":1}' },
  { what: "words that are booleans", text: "a: yes\nb: off\n", gives: '{"a":true,"b":false}' },
  {
    what: "aliases and merges",
    text: "a: &x {q: 1}\nb: *x\nc: {<<: *x, r: 2}\n",
    gives: '{"a":{"q":1},"b":{"q":1},"c":{"q":1,"r":2}}',
  },
  { what: "a tag that no one knows", text: "a: !foo bar\n", gives: '{"a":"bar"}' },
  { what: "keys in order", text: '{"b": 1, "a": {"d": 1, "c": 2}}', gives: '{"a":{"c":2,"d":1},"b":1}' },
  {
    what: "integers of 64 bits",
    text: "most: 18446744073709551615\nleast: [-9223372036854775808, 0x7fffffffffffffff]\nfew: 1_000\n",
    gives: '{"few":1000,"least":[-9223372036854775808,9223372036854775807],"most":18446744073709551615}',
  },
  { what: "a number as a key", text: "0x10: a\n9007199254740993: b\n", gives: '{"16":"a","9007199254740993":"b"}' },
  { what: "signs that HTML escapes", text: "a: <&>\n", gives: '{"a":"\\u003c\\u0026\\u003e"}' },
  { what: "nothing", text: "", gives: "null" },
  { what: "a comment alone", text: "# nothing\n", gives: "null" },
])("$what: $gives", ({ text, gives }) => {
  expect(convertBootstrapOverride(text, "")).toBe(gives);
});

test.each([
  { hostIp: "169.254.169.254", gives: '{"a":"[169.254.169.254]:1","b":"169.254.169.254:1"}' },
  { hostIp: "dead::beef", gives: '{"a":"[dead::beef]:1","b":"[dead::beef]:1"}' },
  { hostIp: "", gives: '{"a":"[]:1","b":":1"}' },
])("the host's address $hostIp gives $gives", ({ hostIp, gives }) => {
  expect(convertBootstrapOverride('a: "[$(HOST_IP)]:1"\nb: "$(HOST_IP):1"\n', hostIp)).toBe(gives);
});

test.each([
  { what: "an open brace", text: '{"a": 1' },
  { what: "an alias of nothing", text: "a: *nothing\n" },
  { what: "an alias of itself", text: "a: &a [*a]\n" },
  { what: "too deep a nesting", text: "[".repeat(5_000) },
  {
    what: "aliases that multiply",
    text: Array.from({ length: 9 }, (_, i) => `a${i}: &a${i} [${Array(9).fill(i === 0 ? "x" : `*a${i - 1}`)}]\n`).join(
      "",
    ),
  },
])("$what is refused", ({ text }) => {
  expect(() => convertBootstrapOverride(text, "")).toThrow();
});
