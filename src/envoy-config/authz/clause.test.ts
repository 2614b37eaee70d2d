import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StringMatcher } from "../../protobuf/gen/envoy/type/matcher/v3.ts";
import { matchHeader, matchText, matchTextAfter, quote, quoteAroundStars } from "./clause.ts";

/** As Envoy does it: expressions have to match the whole text. */
function accepts({ exact, prefix, suffix, safeRegex }: StringMatcher, text: string): boolean {
  if (exact !== undefined) return text === exact;
  if (prefix !== undefined) return text.startsWith(prefix);
  if (suffix !== undefined) return text.endsWith(suffix);
  return new RegExp(`^(?:${safeRegex?.regex})$`, "s").test(text);
}

test.each<{ value: string; matcher: StringMatcher }>([
  { value: "GET", matcher: { exact: "GET" } },
  { value: "/a*", matcher: { prefix: "/a" } },
  { value: "*.html", matcher: { suffix: ".html" } },
  { value: "*", matcher: { safeRegex: { regex: ".+" } } },
  { value: "a*b", matcher: { exact: "a*b" } },
  { value: "**", matcher: { suffix: "*" } },
  { value: "", matcher: { exact: "" } },
])("$value", ({ value, matcher }) => {
  expect(matchText(value)).toEqual(matcher);
});

describe("a value behind a prefix", () => {
  test.each([
    { value: "td/ns/a/sa/b", takes: ["spiffe://td/ns/a/sa/b"], refuses: ["td/ns/a/sa/b", "spiffe://td/ns/a/sa/bb"] },
    { value: "td/*", takes: ["spiffe://td/ns/a"], refuses: ["spiffe://td2/ns/a", "td/x"] },
    { value: "*/sa/b", takes: ["spiffe://td/ns/a/sa/b", "spiffe:///sa/b"], refuses: ["x/sa/b", "spiffe://td/sa/bc"] },
    { value: "*", takes: ["spiffe://anything", "x"], refuses: [""] },
    { value: "*.b", takes: ["spiffe://a.b"], refuses: ["spiffe://acb"] },
  ])("$value", ({ value, takes, refuses }) => {
    const matcher = matchTextAfter("spiffe://", value);
    for (const text of takes) expect(accepts(matcher, text)).toBe(true);
    for (const text of refuses) expect(accepts(matcher, text)).toBe(false);
  });
});

test.each([
  { value: "*", ignoreCase: false, matcher: { name: "h", presentMatch: true } },
  { value: "x", ignoreCase: false, matcher: { name: "h", stringMatch: { exact: "x" } } },
  { value: "x*", ignoreCase: true, matcher: { name: "h", stringMatch: { prefix: "x", ignoreCase: true } } },
])("a header that is $value, whatever its case: $ignoreCase", ({ value, ignoreCase, matcher }) => {
  expect(matchHeader("h", value, ignoreCase)).toEqual(matcher);
});

const text = fc.oneof(fc.string(), fc.stringMatching(/^[\\^$.|?*+()[\]{}a-b/-]{0,8}$/));

test("a quoted text matches itself and nothing else", () => {
  fc.assert(
    fc.property(text, text, (value, other) => {
      const matcher = { safeRegex: { regex: quote(value) } };
      expect(accepts(matcher, value)).toBe(true);
      expect(accepts(matcher, other)).toBe(other === value);
    }),
  );
});

test("with stars it matches whatever stands in their place, and needs the rest", () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), text, (parts, filling) => {
      const literals = parts.map((part) => part.replaceAll("*", ""));
      const matcher = { safeRegex: { regex: quoteAroundStars(literals.join("*")) } };
      expect(accepts(matcher, literals.join(filling))).toBe(true);
      const all = literals.join("");
      fc.pre(all !== "");
      expect(accepts(matcher, "")).toBe(false);
    }),
  );
});
