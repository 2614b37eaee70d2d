import fc from "fast-check";
import { expect, test } from "vitest";
import { decodedPath, splitTarget } from "./request-target.ts";

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
