import { crc32 } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { crcShift, joinCrc } from "./compression-pieces.ts";

const bytes = fc.uint8Array({ maxLength: 2000 }).map((array) => Buffer.from(array));

test("the CRC of two pieces follows from those of each", () => {
  fc.assert(
    fc.property(bytes, bytes, (first, second) => {
      const joined = joinCrc(crc32(first), crc32(second), crcShift(second.length));
      expect(joined).toBe(crc32(Buffer.concat([first, second])));
    }),
  );
});

test.each([0, 1, 2, 255, 65_536, 1_000_003])("it does so for a second piece of %i bytes", (length) => {
  const [first, second] = [Buffer.from("before"), Buffer.alloc(length, 0xa5)];
  const joined = joinCrc(crc32(first), crc32(second), crcShift(length));
  expect(joined).toBe(crc32(Buffer.concat([first, second])));
});

test("shifts add up, also beyond 32 bits of length", () => {
  const crc = crc32("some bytes");
  const inSteps = joinCrc(joinCrc(crc, 0, crcShift(2 ** 32)), 0, crcShift(2 ** 33 + 5));
  expect(joinCrc(crc, 0, crcShift(2 ** 32 + 2 ** 33 + 5))).toBe(inSteps);
});
