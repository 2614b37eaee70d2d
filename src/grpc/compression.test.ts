import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { acceptsGzip, decompress, parseEncoding } from "./compression.ts";

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

test.each([
  { header: undefined, accepts: false },
  { header: "", accepts: false },
  { header: "identity", accepts: false },
  { header: "identity,deflate", accepts: false },
  { header: "gzipped", accepts: false },
  { header: "gzip", accepts: true },
  { header: "identity,deflate,gzip", accepts: true },
  { header: "identity, gzip ,deflate", accepts: true },
])("a peer with grpc-accept-encoding $header takes gzip: $accepts", ({ header, accepts }) => {
  expect(acceptsGzip(header)).toBe(accepts);
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
  { says: "less than it has", size: 10 },
  { says: "nothing", size: 0 },
  { says: "four gigabytes", size: 0xffff_ffff },
])("an end that names $says takes no memory for it and is found out", async ({ size }) => {
  const packed = gzipSync(Buffer.alloc(100_000, 1));
  packed.writeUInt32LE(size, packed.length - 4);
  const before = process.memoryUsage().arrayBuffers;
  const done = decompress(packed, "gzip", 2 ** 31 - 1);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThanOrEqual(4 * 1024 * 1024);
  await expect(done).rejects.toMatchObject({ code: "INTERNAL" });
});

test.each([
  { name: "garbage", bytes: Buffer.from("not gzip"), encoding: "gzip" },
  { name: "a truncated body", bytes: gzipSync(Buffer.from("hello")).subarray(0, 12), encoding: "gzip" },
  { name: "a compressed frame without an encoding", bytes: gzipSync(Buffer.from("x")), encoding: "identity" },
] as const)("$name is INTERNAL", async ({ bytes, encoding }) => {
  await expect(decompress(bytes, encoding, 100)).rejects.toMatchObject({ code: "INTERNAL" });
});
