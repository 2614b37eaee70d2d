import fc from "fast-check";
import { expect, test } from "vitest";
import { parseIp } from "./ip.ts";
import { formatPrefix, isInPrefixes, maskPrefix, parsePrefix, parsePrefixOrIp, prefixContains } from "./ip-prefix.ts";

test.each([
  { text: "10.1.2.3/8", printed: "10.1.2.3/8", network: "10.0.0.0/8" },
  { text: "2001:DB8:1::/32", printed: "2001:db8:1::/32", network: "2001:db8::/32" },
  { text: "0.0.0.0/0", printed: "0.0.0.0/0", network: "0.0.0.0/0" },
  { text: "fd00::ff/127", printed: "fd00::ff/127", network: "fd00::fe/127" },
])("$text keeps its host bits and belongs to $network", ({ text, printed, network }) => {
  const prefix = parsePrefix(text);
  expect(prefix && formatPrefix(prefix)).toBe(printed);
  expect(prefix && formatPrefix(maskPrefix(prefix))).toBe(network);
});

test.each(["10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "::/129", "/8", "*", "10.0.0.0/8 ", "fe80::1%eth0/64"])(
  "%s is not a prefix",
  (text) => expect([parsePrefix(text), parsePrefixOrIp(text)]).toEqual([undefined, undefined]),
);

test("a plain address is a range of itself where one is allowed", () => {
  expect(parsePrefix("10.0.0.1")).toBeUndefined();
  expect(["10.0.0.1", "fd00::1"].map((text) => parsePrefixOrIp(text)?.bits)).toEqual([32, 128]);
});

test("IPv4 written as IPv6 is in the ranges of the IPv4 address", () => {
  const ranges = ["10.1.0.0/16", "2001:db8::/32"].flatMap((text) => parsePrefix(text) ?? []);
  const isIn = (text: string) => {
    const address = parseIp(text);
    return address && isInPrefixes(ranges, address);
  };
  expect(["10.1.2.3", "::ffff:10.1.2.3", "2001:db8:1::1"].map(isIn)).toEqual([true, true, true]);
  expect(["10.2.0.1", "::ffff:10.2.0.1", "2001:db9::1"].map(isIn)).toEqual([false, false, false]);
});

test("a prefix contains its own addresses and not one with another bit inside the mask", () => {
  fc.assert(
    fc.property(fc.nat({ max: 0xffffffff }), fc.integer({ min: 1, max: 32 }), (word, bits) => {
      const prefix = { address: { family: 4 as const, words: [word] }, bits };
      const flipped = (word ^ (1 << (32 - bits))) >>> 0;
      expect(prefixContains(prefix, { family: 4, words: [word] })).toBe(true);
      expect(prefixContains(prefix, { family: 4, words: [flipped] })).toBe(false);
    }),
  );
});

test("any text gives a prefix or nothing, never a throw", () => {
  fc.assert(fc.property(fc.string(), (text) => void parsePrefixOrIp(text)));
});
