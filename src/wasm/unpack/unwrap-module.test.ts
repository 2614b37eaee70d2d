import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { buildTar, buildTarGz } from "../../../test/support/oci/archive.ts";
import { WASM_MODULE, wasmModule } from "../../../test/support/wasm/resources.ts";
import { extractPlugin } from "../oci/prepare-image.ts";
import { isWasmModule, unwrapModule } from "./unwrap-module.ts";

const MAX = 64 * 1024;
const module = wasmModule("a");

test.each([
  { what: "plain", bytes: module },
  { what: "gz", bytes: gzipSync(module) },
  { what: "tar", bytes: buildTar([{ name: "any", data: module }]) },
  {
    what: "tar with a folder in front",
    bytes: buildTar([
      { name: "./", type: "5" },
      { name: "any", data: module },
    ]),
  },
  { what: "tar.gz", bytes: buildTarGz([{ name: "any", data: module }]) },
  { what: "gz in tar in gz", bytes: buildTarGz([{ name: "any", data: gzipSync(module) }]) },
])("$what gives the module", async ({ bytes }) => {
  expect((await unwrapModule(bytes, MAX)).equals(module)).toBe(true);
});

test.each([
  { what: "text", bytes: Buffer.from("not a module") },
  { what: "damaged gzip", bytes: gzipSync(module).subarray(0, 15) },
  { what: "gzip of text", bytes: gzipSync("not a module") },
  { what: "an archive without files", bytes: buildTar([{ name: "d/", type: "5" }]) },
  { what: "an archive that is cut short", bytes: buildTar([{ name: "a", data: module }]).subarray(0, 516) },
  { what: "nothing", bytes: Buffer.alloc(0) },
])("$what is given back as it came", async ({ bytes }) => {
  expect(await unwrapModule(bytes, MAX)).toBe(bytes);
});

test("a small archive that stands for more than the limit is refused, not cut", async () => {
  const bomb = gzipSync(Buffer.concat([module, Buffer.alloc(20 * 1024 * 1024)]));
  expect(bomb.length).toBeLessThan(MAX);
  await expect(unwrapModule(bomb, MAX)).rejects.toMatchObject({ code: "too-large" });
  await expect(extractPlugin(bomb, MAX)).rejects.toMatchObject({ code: "too-large" });
});

test("exactly the limit passes, one byte more does not", async () => {
  const large = Buffer.concat([module, Buffer.alloc(MAX - module.length)]);
  expect(await unwrapModule(gzipSync(large), MAX)).toHaveLength(MAX);
  await expect(unwrapModule(gzipSync(large), MAX - 1)).rejects.toMatchObject({ code: "too-large" });
});

test("archives within archives come to an end", async () => {
  let bytes: Buffer = module;
  for (let depth = 0; depth < 50; depth += 1) bytes = gzipSync(bytes);
  await expect(unwrapModule(bytes, MAX)).rejects.toMatchObject({ code: "invalid-module" });
});

test.each(["plugin.wasm", "./plugin.wasm", "usr/lib/plugin.wasm", "../../../etc/plugin.wasm", "/plugin.wasm"])(
  "the plugin is found as %s and its path means nothing",
  async (name) => {
    const layer = buildTarGz([
      { name: "not-plugin.wasm", data: Buffer.from("x") },
      { name, data: module },
    ]);
    expect((await extractPlugin(layer, MAX)).equals(module)).toBe(true);
  },
);

test("a layer without the plugin, or that is not an archive, says so", async () => {
  const layer = buildTarGz([{ name: "other.wasm", data: module }]);
  await expect(extractPlugin(layer, MAX)).rejects.toThrow("plugin.wasm not found in the archive");
  await expect(extractPlugin(Buffer.from("text"), MAX)).rejects.toMatchObject({ code: "invalid-module" });
});

test.each([
  { bytes: WASM_MODULE, is: true },
  { bytes: WASM_MODULE.subarray(0, 7), is: false },
  { bytes: Buffer.from("\0asn\x01\0\0\0"), is: false },
])("$bytes is a module: $is", ({ bytes, is }) => {
  expect(isWasmModule(bytes)).toBe(is);
});
