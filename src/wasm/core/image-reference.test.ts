import fc from "fast-check";
import { expect, test } from "vitest";
import { moduleName, parseImageReference, parseOciUrl } from "./image-reference.ts";

const D = `sha256:${"a".repeat(64)}`;

test.each([
  { text: "ghcr.io/org/app:v1", registry: "ghcr.io", repository: "org/app", tag: "v1", digest: undefined },
  { text: "ghcr.io/org/app", registry: "ghcr.io", repository: "org/app", tag: "latest", digest: undefined },
  { text: `ghcr.io/org/app@${D}`, registry: "ghcr.io", repository: "org/app", tag: "latest", digest: D },
  { text: `ghcr.io/org/app:v1@${D}`, registry: "ghcr.io", repository: "org/app", tag: "v1", digest: D },
  { text: "localhost:5000/a/b/c:x", registry: "localhost:5000", repository: "a/b/c", tag: "x", digest: undefined },
  { text: "localhost/a", registry: "localhost", repository: "a", tag: "latest", digest: undefined },
  { text: "[::1]:5000/a", registry: "[::1]:5000", repository: "a", tag: "latest", digest: undefined },
  { text: "docker.io/app", registry: "index.docker.io", repository: "library/app", tag: "latest", digest: undefined },
  { text: "docker.io/org/app", registry: "index.docker.io", repository: "org/app", tag: "latest", digest: undefined },
  { text: "org/app:2", registry: "index.docker.io", repository: "org/app", tag: "2", digest: undefined },
])("$text", ({ text, ...expected }) => {
  expect(parseImageReference(text)).toEqual(expected);
});

test.each([
  "",
  "ghcr.io/",
  "ghcr.io/UPPER",
  "ghcr.io/a:",
  "ghcr.io/a:bad tag",
  "ghcr.io/a@sha256:short",
  `ghcr.io/a@${D}@${D}`,
  "ghcr.io/../a",
  "ghcr.io/a/../../v2/x",
  "ghcr.io/a%2e",
  "user:pw@ghcr.io/a",
  "ghcr.io:port/a",
])("%s is not a reference", (text) => {
  expect(parseImageReference(text)).toBeUndefined();
});

test.each([
  { url: "oci://docker.io/app:v1", name: "oci://index.docker.io/library/app" },
  { url: `oci://ghcr.io/org/app@${D}`, name: "oci://ghcr.io/org/app" },
  { url: "oci://ghcr.io/org/app:v2", name: "oci://ghcr.io/org/app" },
  { url: "oci://not a reference", name: "oci://not a reference" },
  { url: "https://x/app.wasm?v=1", name: "https://x/app.wasm?v=1" },
])("$url is a version of $name", ({ url, name }) => {
  expect(moduleName(url)).toBe(name);
});

test("only oci addresses are images", () => {
  expect(parseOciUrl("https://ghcr.io/org/app")).toBeUndefined();
  expect(parseOciUrl("OCI://ghcr.io/org/app")?.repository).toBe("org/app");
});

test("any text is a reference without anything that could change the request, or none", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary-ascii" }),
      fc.constantFrom("ghcr.io/", "localhost:5000/", ""),
      (text, prefix) => {
        const found = parseImageReference(prefix + text);
        if (found === undefined) return;
        expect(`${found.repository}${found.tag}`).toMatch(/^[\w./-]+$/);
        expect(found.repository).not.toContain("..");
      },
    ),
    { numRuns: 300 },
  );
});
