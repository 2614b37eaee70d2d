import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { decompress, parseEncoding } from "./compression.ts";

test.each([
  { header: undefined, encoding: "identity" },
  { header: "", encoding: "identity" },
  { header: "identity", encoding: "identity" },
  { header: "gzip", encoding: "gzip" },
  { header: "deflate", encoding: undefined },
  { header: "snappy", encoding: undefined },
])("grpc-encoding $header is $encoding", ({ header, encoding }) => {
  expect(parseEncoding(header)).toBe(encoding);
});

test("gzip is unpacked up to the limit and not beyond", async () => {
  const packed = gzipSync(Buffer.alloc(1000, 1));
  expect(await decompress(packed, "gzip", 1000)).toHaveLength(1000);
  await expect(decompress(packed, "gzip", 999)).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED" });
});

test("a bomb of 100 MB in 100 KB stops at the limit", async () => {
  const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024));
  expect(bomb.length).toBeLessThan(200_000);
  await expect(decompress(bomb, "gzip", 4 * 1024 * 1024)).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED" });
});

test.each([
  { name: "garbage", bytes: Buffer.from("not gzip"), encoding: "gzip" },
  { name: "a truncated body", bytes: gzipSync(Buffer.from("hello")).subarray(0, 12), encoding: "gzip" },
  { name: "a compressed frame without an encoding", bytes: gzipSync(Buffer.from("x")), encoding: "identity" },
] as const)("$name is INTERNAL", async ({ bytes, encoding }) => {
  await expect(decompress(bytes, encoding, 100)).rejects.toMatchObject({ code: "INTERNAL" });
});
