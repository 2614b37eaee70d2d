import fc from "fast-check";
import { expect, test } from "vitest";
import { isLoopback } from "./is-loopback.ts";

test.each([
  ["127.0.0.1", true],
  ["127.255.0.6", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["::FFFF:127.9.9.9", true],
  ["128.0.0.1", false],
  ["10.0.0.1", false],
  ["::ffff:10.0.0.1", false],
  ["::2", false],
  ["fe80::1", false],
  ["127.0.0.256", false],
  ["127.0.0.1.example", false],
  ["127.0.0", false],
  ["localhost", false],
  ["", false],
  [undefined, false],
])("peer %s is on this machine: %s", (address, expected) => {
  expect(isLoopback(address)).toBe(expected);
});

test("every IPv4 address is judged by its first octet alone, in both spellings", () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(isLoopback(address)).toBe(address.startsWith("127."));
      expect(isLoopback(`::ffff:${address}`)).toBe(address.startsWith("127."));
    }),
  );
});
