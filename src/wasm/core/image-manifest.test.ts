import fc from "fast-check";
import { expect, test } from "vitest";
import { WasmError } from "../wasm-error.ts";
import { choosePlatform, parseImageDocument } from "./image-manifest.ts";

const D = `sha256:${"a".repeat(64)}`;
const parse = (document: unknown, type = "") => parseImageDocument(Buffer.from(JSON.stringify(document)), type);
const INDEX = "application/vnd.oci.image.index.v1+json";

test.each([
  { what: "its own media type", document: { mediaType: INDEX, manifests: [] }, type: "text/plain", kind: "index" },
  { what: "the answer's type", document: { manifests: [] }, type: `${INDEX}; charset=utf-8`, kind: "index" },
  { what: "its content", document: { manifests: [] }, type: "", kind: "index" },
  { what: "layers", document: { layers: [] }, type: "", kind: "manifest" },
  { what: "nothing at all", document: {}, type: "", kind: "manifest" },
])("recognized by $what, it is a(n) $kind", ({ document, type, kind }) => {
  expect(parse(document, type).kind).toBe(kind);
});

test("a manifest's own media type decides, not the answer's", () => {
  expect(parse({ layers: [{ mediaType: "m", digest: D, size: 3 }] }, "application/json")).toEqual({
    kind: "manifest",
    mediaType: "",
    layers: [{ mediaType: "m", digest: D, size: 3 }],
  });
});

const entry = (digest: string, os = "", architecture = "") => ({ digest, os, architecture });
test.each([
  { what: "the machine's own", entries: [entry("a", "linux", "amd64"), entry("b", "linux", "arm64")], chosen: "b" },
  { what: "else the usual one", entries: [entry("a", "windows", "arm64"), entry("b", "linux", "amd64")], chosen: "b" },
  { what: "else the neutral one", entries: [entry("a", "linux", "s390x"), entry("b", "wasip1", "wasm")], chosen: "b" },
  { what: "else the only one", entries: [entry("a")], chosen: "a" },
])("of the platforms $what is chosen", ({ entries, chosen }) => {
  expect(choosePlatform(entries, "arm64")).toBe(chosen);
});

test("an index without a usable platform is refused", () => {
  expect(() => choosePlatform([entry("a", "x", "y"), entry("b", "x", "z")], "arm64")).toThrow("linux/amd64");
  expect(() => choosePlatform([], "arm64")).toThrow(WasmError);
});

test.each([
  { layers: [{ digest: "sha256:../../x" }] },
  { layers: [{ digest: "md5:abc" }] },
  { layers: [{}] },
  { layers: "text" },
  { manifests: [null], mediaType: INDEX },
  [],
  null,
])("%j is malformed", (document) => {
  expect(() => parse(document)).toThrow(WasmError);
});

test("anything is a document or a coded error", () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
      try {
        parseImageDocument(Buffer.from(text), "");
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(WasmError);
      }
    }),
  );
});
