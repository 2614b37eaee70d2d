import fc from "fast-check";
import { expect, test } from "vitest";
import { parseResourceName } from "./resource-name.ts";

test.each([
  { name: "default", is: { kind: "workload" } },
  { name: "ROOTCA", is: { kind: "trust-bundle" } },
  {
    name: "file-cert:/a/c.pem~/a/k.pem",
    is: { kind: "file-key-pair", certificatePath: "/a/c.pem", keyPath: "/a/k.pem" },
  },
  { name: "file-root:/a/r.pem", is: { kind: "file-root", path: "/a/r.pem" } },
  { name: "file-root:system", is: { kind: "system-root" } },
])("$name is $is.kind", ({ name, is }) => {
  expect(parseResourceName(name)).toEqual(is);
});

test.each([
  "file-root:",
  "file-root:a~b",
  "file-root:a\0b",
  "file-cert:",
  "file-cert:~",
  "file-cert:a",
  "file-cert:a~",
  "file-cert:~b",
  "file-cert:a~b~c",
])("%s is a malformed file name", (name) => {
  expect(parseResourceName(name)).toEqual({ kind: "unknown", file: true });
});

test.each(["", "Default", "default ", "rootca", "file:x", "kubernetes://a", "sds://a", "builtin://"])(
  "%s is a name the agent never serves",
  (name) => {
    expect(parseResourceName(name)).toEqual({ kind: "unknown", file: false });
  },
);

test("only the exact workload name is ever the workload, whatever a client sends", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (name) => {
      expect(parseResourceName(name).kind === "workload").toBe(name === "default");
    }),
  );
});
