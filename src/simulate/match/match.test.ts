import { describe, expect, test } from "vitest";
import { matchesHeader, matchesQuery } from "./headers.ts";
import { matchesPath, matchesTemplate, normalizedPath } from "./path.ts";
import { matchesWhole, substitute } from "./regex.ts";
import { matchesValue } from "./text.ts";

describe("paths", () => {
  test.each([
    { match: { prefix: "/a" }, path: "/ab?x", matches: true },
    { match: { pathSeparatedPrefix: "/a" }, path: "/ab", matches: false },
    { match: { pathSeparatedPrefix: "/a" }, path: "/a/b", matches: true },
    { match: { path: "/a" }, path: "/a?q=1", matches: true },
    { match: { path: "/a" }, path: "/A", matches: false },
    { match: { path: "/a", caseSensitive: false }, path: "/A", matches: true },
    { match: { safeRegex: { regex: "/a" } }, path: "/a/b", matches: false },
  ])("$match takes $path: $matches", ({ match, path, matches }) => {
    expect(matchesPath(match, path)).toBe(matches);
  });

  test.each([
    { template: "/of/*/x", path: "/of/me/x", matches: true },
    { template: "/of/*/x", path: "/of/a/b/x", matches: false },
    { template: "/of/**", path: "/of/a/b", matches: true },
    { template: "/of/{who=*}", path: "/of/me?q", matches: true },
  ])("template $template takes $path: $matches", ({ template, path, matches }) => {
    expect(matchesTemplate(template, path)).toBe(matches);
  });

  test.each([
    { path: "/a/../b/./c?q=..", becomes: "/b/c?q=.." },
    { path: "/a/..", becomes: "/" },
    { path: "/a\\b/%2e%2e/c", becomes: "/a/c" },
    { path: "//a", becomes: "//a" },
  ])("$path is taken as $becomes", ({ path, becomes }) => {
    expect(normalizedPath(path, { normalizePath: true })).toBe(becomes);
  });

  test("slashes are merged and escaped slashes decoded where that is asked for", () => {
    const rules = {
      normalizePath: true,
      mergeSlashes: true,
      pathWithEscapedSlashesAction: "UNESCAPE_AND_FORWARD",
    } as const;
    expect(normalizedPath("//a%2Fb//c", rules)).toBe("/a/b/c");
    expect(normalizedPath("/a%2Fb", { pathWithEscapedSlashesAction: "REJECT_REQUEST" })).toEqual({ status: 400 });
  });
});

describe("headers", () => {
  const exact = { name: "X-User", stringMatch: { exact: "alice" } };
  test.each([
    { matcher: exact, headers: { "x-user": "alice" }, matches: true },
    { matcher: { ...exact, invertMatch: true }, headers: { "x-user": "bob" }, matches: true },
    { matcher: { ...exact, invertMatch: true }, headers: {}, matches: false },
    { matcher: { ...exact, invertMatch: true, treatMissingHeaderAsEmpty: true }, headers: {}, matches: true },
    { matcher: { name: "x-user", presentMatch: true }, headers: { "x-user": "" }, matches: true },
    { matcher: { name: "x-user", presentMatch: true, invertMatch: true }, headers: {}, matches: true },
    { matcher: { name: "n", rangeMatch: { start: "1", end: "3" } }, headers: { n: "3" }, matches: false },
  ])("$matcher and $headers: $matches", ({ matcher, headers, matches }) => {
    expect(matchesHeader(matcher, headers)).toBe(matches);
  });

  test("the first value of a query parameter counts, as it is written", () => {
    expect(matchesQuery({ name: "q", stringMatch: { exact: "a%20b" } }, "/x?q=a%20b&q=c")).toBe(true);
    expect(matchesQuery({ name: "q", presentMatch: true }, "/x?r")).toBe(false);
  });
});

test("regular expressions match the whole text, with RE2's flags and names", () => {
  expect(matchesWhole("a|b", "ab")).toBe(false);
  expect(matchesWhole("(?i)abc", "ABC")).toBe(true);
  expect(matchesWhole("(?P<x>a)+", "aa")).toBe(true);
  expect(substitute("^/a/(.*)$", "/b/\\1", "/a/c")).toBe("/b/c");
  expect(substitute("^/a", "/w\\0", "/a/b")).toBe("/w/a/b");
});

test("claims are texts or lists of them", () => {
  const admins = { stringMatch: { exact: "admins" } };
  const matcher = { orMatch: { valueMatchers: [{ listMatch: { oneOf: admins } }, admins] } };
  expect(matchesValue(matcher, ["users", "admins"])).toBe(true);
  expect(matchesValue(matcher, "admins")).toBe(true);
  expect(matchesValue(matcher, undefined)).toBe(false);
});
