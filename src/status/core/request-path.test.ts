import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanPath, decodedPath, splitTarget } from "./request-path.ts";

test.each([
  { target: "/metrics", want: { path: "/metrics", query: "" } },
  { target: "/metrics?a=b?c", want: { path: "/metrics", query: "a=b?c" } },
  { target: "http://pod:15020/metrics?a", want: { path: "/metrics", query: "a" } },
  { target: "HTTPS://pod/metrics", want: { path: "/metrics", query: "" } },
  { target: "http://pod", want: { path: "", query: "" } },
  { target: "http://pod?a", want: { path: "", query: "a" } },
  { target: "/http://pod/metrics", want: { path: "/http://pod/metrics", query: "" } },
  { target: "*", want: undefined },
  { target: "", want: undefined },
  { target: "pod:15020", want: undefined },
  { target: "ftp://pod/metrics", want: undefined },
])("the target $target", ({ target, want }) => {
  expect(splitTarget(target)).toEqual(want);
});

test.each([
  { path: "/metrics", want: "/metrics" },
  { path: "/%6detrics", want: "/metrics" },
  { path: "/app-health/%C3%BC/readyz", want: "/app-health/ü/readyz" },
  { path: "/healthz%2fready", want: "/healthz%2fready" },
  { path: "/healthz%2Fready", want: "/healthz%2Fready" },
  { path: "/%252f", want: "/%2f" },
  { path: "/%zz", want: undefined },
  { path: "/%", want: undefined },
  { path: "/%4", want: undefined },
])("the path $path is read as $want", ({ path, want }) => {
  expect(decodedPath(path)).toBe(want);
});

test("reading inverts escaping, and no text throws", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const escaped = `/${encodeURIComponent(text.replaceAll("/", ""))}`;
      expect(decodedPath(escaped)).toBe(`/${text.replaceAll("/", "")}`);
      decodedPath(text);
      splitTarget(text);
    }),
  );
});

test.each([
  ["/", "/"],
  ["", "/"],
  ["//", "/"],
  ["/metrics", "/metrics"],
  ["//debug/pprof/cmdline", "/debug/pprof/cmdline"],
  ["/x/../metrics", "/metrics"],
  ["/../../etc", "/etc"],
  ["/a/./b", "/a/b"],
  ["/a/b/", "/a/b/"],
  ["/a//", "/a/"],
  ["/a/..", "/"],
])("the path %s is %s when clean", (path, clean) => {
  expect(cleanPath(path)).toBe(clean);
});

test("cleaning is idempotent and leaves no way up", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("a", "", ".", "..", "b.c", "...")), (elements) => {
      const clean = cleanPath(`/${elements.join("/")}`);
      expect(cleanPath(clean)).toBe(clean);
      expect(clean.split("/")).not.toContain("..");
      expect(clean).not.toContain("//");
    }),
  );
});
