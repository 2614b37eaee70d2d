import fc from "fast-check";
import { expect, test } from "vitest";
import { re2Problem } from "./re2-problem.ts";

test.each([
  "",
  "^(.*?;)?(user=jason)(;.*)?$",
  "/a/[^/]+/b",
  "(?i)abc",
  "(?i:abc)d",
  "(?P<name>x)(?<other>y)",
  "a{2,5}b{3}c{0,}d{1000}",
  "x{,2}",
  "a{",
  "[]a]",
  "[^]a]",
  "[a-z0-9_.-]",
  "[[:alpha:]\\d\\-]",
  "\\pL\\p{Greek}\\P{^Lu}",
  "\\p{Old_Italic}\\p{Thai}\\p{Any}",
  "\\x41\\x{0041}\\x{FF}\\012\\Q(((\\E",
  "a\\Q\\E*",
  "\\Qab\\E*",
  "\\Qab*",
  "[\\x30-\\x41]",
  "[\\t-\\n]",
  "[\\n-a]",
  "[+-\\.]",
  "[\\d-z]",
  "[a-\\x{7A}]",
  "日+[日本]",
  "\\.\\*\\/\\-",
  "(a|b|)*",
  "a*?b+?c??",
  "|",
  "\\bword\\B\\A\\z",
  "(?s-m:.)",
])("RE2 takes %s", (pattern) => expect(re2Problem(pattern)).toBeUndefined());

test.each([
  { pattern: "(?=a)", says: "invalid or unsupported Perl syntax: `(?=`" },
  { pattern: "(?!a)", says: "invalid or unsupported Perl syntax: `(?!`" },
  { pattern: "(?<=a)b", says: "invalid or unsupported Perl syntax: `(?<=`" },
  { pattern: "(?<!a)b", says: "invalid or unsupported Perl syntax: `(?<!`" },
  { pattern: "(?>a)", says: "invalid or unsupported Perl syntax: `(?>`" },
  { pattern: "(a)\\1", says: "invalid escape sequence: `\\1`" },
  { pattern: "\\k<a>", says: "invalid escape sequence: `\\k`" },
  { pattern: "\\Z", says: "invalid escape sequence: `\\Z`" },
  { pattern: "a**", says: "invalid nested repetition operator: `**`" },
  { pattern: "a++", says: "invalid nested repetition operator: `++`" },
  { pattern: "a*?+", says: "invalid nested repetition operator: `*?+`" },
  { pattern: "*a", says: "missing argument to repetition operator: `*`" },
  { pattern: "(|+a)", says: "missing argument to repetition operator: `+`" },
  { pattern: "a{1001}", says: "invalid repeat count: `{1001}`" },
  { pattern: "a{3,2}", says: "invalid repeat count: `{3,2}`" },
  { pattern: "(a", says: "missing closing ): `(a`" },
  { pattern: "a)", says: "unexpected ): `a)`" },
  { pattern: "[a", says: "missing closing ]: `[a`" },
  { pattern: "[z-a]", says: "invalid character class range: `z-a`" },
  { pattern: "[\\x41-\\x30]", says: "invalid character class range: `\\x41-\\x30`" },
  { pattern: "[b-\\141]", says: "invalid character class range: `b-\\141`" },
  { pattern: "[a-\\.]", says: "invalid character class range: `a-\\.`" },
  { pattern: "[a-\\d]", says: "invalid escape sequence: `\\d`" },
  { pattern: "[a-\\pL]", says: "invalid escape sequence: `\\p`" },
  { pattern: "\\x{100}", says: "invalid escape sequence: `\\x{100}`" },
  { pattern: "\\x{110000}", says: "invalid escape sequence: `\\x{110000}`" },
  { pattern: "[^\\x{1F600}]", says: "invalid escape sequence: `\\x{1F600}`" },
  { pattern: "\\Q\\E*", says: "missing argument to repetition operator: `*`" },
  { pattern: "[[:foo:]]", says: "invalid character class range: `[:foo:]`" },
  { pattern: "a\\", says: "trailing backslash at end of expression" },
  { pattern: "\\xZZ", says: "invalid escape sequence: `\\x`" },
  { pattern: "(?P<n>a)(?P<n>b)", says: "duplicate capture group name: `n`" },
  { pattern: "(?P<n", says: "invalid named capture: `(?P<n`" },
  { pattern: "\\p{Foo}", says: "invalid character class range: `\\p{Foo}`" },
  { pattern: "\\p{Latn}", says: "invalid character class range: `\\p{Latn}`" },
  { pattern: "\\p{Lowercase_Letter}", says: "invalid character class range: `\\p{Lowercase_Letter}`" },
  { pattern: "\\pQ", says: "invalid character class range: `\\pQ`" },
  { pattern: "(".repeat(1001), says: "expression nests too deeply" },
])("RE2 refuses $pattern: $says", ({ pattern, says }) => {
  expect(re2Problem(pattern)).toBe(`error parsing regexp: ${says}`);
});

test("random text is taken or refused, never thrown at", () => {
  const piece = fc.oneof(
    fc.constantFrom("(", ")", "[", "]", "{2}", "*", "\\", "?", "|", "(?", "-", "^", "[:", ":]"),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      expect(["string", "undefined"]).toContain(typeof re2Problem(pieces.join("")));
    }),
  );
});

test("what is refused for its brackets is refused by JavaScript too", () => {
  const piece = fc.constantFrom("a", "b", "(", ")", "[", "]", "|", ".");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const pattern = pieces.join("");
      // An empty class and a lone bracket mean different things in the two languages.
      fc.pre(!/\[\]|\]/.test(pattern) || /^[^\]]*\[[ab|.()]+\][^\]]*$/.test(pattern));
      const isFine = (() => {
        try {
          new RegExp(pattern);
          return true;
        } catch {
          return false;
        }
      })();
      expect(re2Problem(pattern) === undefined).toBe(isFine);
    }),
  );
});
