import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { re2SizeProblem } from "./re2-size.ts";

describe("re2SizeProblem", () => {
  test.each([
    "a{1,1000}",
    "(a{1,30}){1,30}",
    "(a{10}){100}",
    "[^/]{1,1000}",
    "^(.*?;)?(user=jane)(;.*)?$",
    "\\p{Greek}{1,30}",
    "(?i:a{500}|b{500}){2}",
    "[a{500}]{500}",
    "\\Q(a{500}){500}\\E",
    "a{500}b{500}c{500}",
    "(?P<n>a){3}{2}",
  ])("%s is small enough", (pattern) => {
    expect(re2SizeProblem(pattern)).toBeUndefined();
  });

  test.each([
    ["(a{500}){500}", /multiply/],
    ["((a{100}){10}|b){100}", /multiply/],
    ["(a{1,}b{2,40}){30}", /multiply/],
    ["(?:x(?:y(?:z{11}){10}){10})+", /multiply/],
    ["\\p{Greek}{1,900}", /too large/],
    [`(${"a".repeat(40)}){1000}`, /too large/],
    ["[^a]{1000}[^b]{1000}", /too large/],
  ])("%s is not", (pattern, reason) => {
    expect(re2SizeProblem(pattern)).toMatch(reason);
  });

  test("any text has an answer", () => {
    fc.assert(fc.property(fc.string(), (text) => ["string", "undefined"].includes(typeof re2SizeProblem(text))));
  });
});
