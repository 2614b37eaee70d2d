import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanPath } from "./clean-path.ts";

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
])("%s is %s", (path, clean) => {
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
