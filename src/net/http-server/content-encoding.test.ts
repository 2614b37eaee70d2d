import { expect, test } from "vitest";
import { chooseEncoding } from "./content-encoding.ts";

test.each([
  [undefined, undefined],
  ["", undefined],
  ["gzip", "gzip"],
  ["zstd", "zstd"],
  ["GZip", "gzip"],
  ["gzip, zstd", "zstd"],
  ["zstd, gzip", "zstd"],
  ["deflate, gzip;q=1.0, zstd;q=0.5", "gzip"],
  ["gzip;q=0.5, identity;q=1", "gzip"],
  ["br, lz4", undefined],
  ["*", undefined],
  ["x-gzip", undefined],
  ["gzip;q=0", undefined],
  ["gzip;q=abc", undefined],
  ["gzip;q=abc, zstd;q=0.1", "zstd"],
  ["gzip; q = 0.2 , zstd;q=.1", "gzip"],
])("%s gives %s", (header, want) => {
  expect(chooseEncoding(header, ["zstd", "gzip"])).toBe(want);
});

test("without zstd on this side gzip has to do", () => {
  expect(chooseEncoding("zstd, gzip;q=0.1", ["gzip"])).toBe("gzip");
});
