import { expect, test } from "vitest";
import { decodeObject } from "../decode/decode-object.ts";

const problemsOf = (spec: object) =>
  decodeObject(
    { apiVersion: "extensions.istio.io/v1alpha1", kind: "WasmPlugin", metadata: { name: "p" }, spec },
    { defaultNamespace: "default" },
  ).problems.map(({ path, message }) => `${path.join(".")}: ${message}`);

test.each<{ what: string; spec: object; says: RegExp }>([
  { what: "without address", spec: {}, says: /^spec\.url: url field needs to be set/ },
  {
    what: "of a scheme",
    spec: { url: "ftp://a/b" },
    says: /spec\.url: url contains unsupported scheme: ftp; allowed: file/,
  },
  { what: "of an address that is none", spec: { url: "http://[" }, says: /spec\.url: failed to parse url/ },
  { what: "with a short checksum", spec: { url: "a/b", sha256: "ff" }, says: /spec\.sha256: .*\[a-f0-9\]\{64\}/ },
  {
    what: "with a variable without name",
    spec: { url: "a/b", vmConfig: { env: [{ value: "1" }] } },
    says: /spec\.vmConfig\.env\.0\.name: .*empty/,
  },
  {
    what: "with a variable twice",
    spec: { url: "a/b", vmConfig: { env: [{ name: "A" }, { name: "A" }] } },
    says: /env\.1\.name: duplicate env variable A/,
  },
  {
    what: "with a value of its own for one of the host",
    spec: { url: "a/b", vmConfig: { env: [{ name: "A", valueFrom: "HOST", value: "1" }] } },
    says: /value may only be set when valueFrom is INLINE/,
  },
  {
    what: "for port 0",
    spec: { url: "a/b", match: [{ ports: [{ number: 0 }] }] },
    says: /spec\.match\.0\.ports\.0\.number/,
  },
])("a plugin $what is refused", ({ spec, says }) => {
  expect(problemsOf(spec).join("\n")).toMatch(says);
});

test.each(["registry.example/a:v1", "oci://127.0.0.1:5000/a@sha256:00", "https://a/m.wasm", "file:///m.wasm"])(
  "a plugin at %s is taken",
  (url) => {
    expect(problemsOf({ url })).toEqual([]);
  },
);
