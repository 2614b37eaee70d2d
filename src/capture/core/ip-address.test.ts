import fc from "fast-check";
import { expect, test } from "vitest";
import {
  formatIp,
  formatPrefix,
  formatResolver,
  isLinkLocal,
  isLoopback,
  maskPrefix,
  parseIp,
  parsePrefix,
  prefixContains,
} from "./ip-address.ts";

test.each([
  { text: "10.0.0.1", canonical: "10.0.0.1" },
  { text: "255.255.255.255", canonical: "255.255.255.255" },
  { text: "::", canonical: "::" },
  { text: "::1", canonical: "::1" },
  { text: "2001:DB8::", canonical: "2001:db8::" },
  { text: "2001:db8:0:0:1:0:0:1", canonical: "2001:db8::1:0:0:1" },
  { text: "1:2:3:4:5:6:7:8", canonical: "1:2:3:4:5:6:7:8" },
  { text: "::ffff:1.2.3.4", canonical: "::ffff:1.2.3.4" },
  { text: "::127.0.0.53", canonical: "::7f00:35" },
  { text: "64:ff9b::1.2.3.4", canonical: "64:ff9b::102:304" },
  { text: "::6", canonical: "::6" },
  { text: "fd00:0:0:1::", canonical: "fd00:0:0:1::" },
])("$text is an address and prints as $canonical", ({ text, canonical }) => {
  const address = parseIp(text);
  expect(address && formatIp(address)).toBe(canonical);
});

test.each(["::127.0.0.53", "::1", "::ffff:1.2.3.4", "10.0.0.1", "fd00::1", "::1:0:0"])(
  "a resolver %s prints as it is written",
  (text) => {
    const address = parseIp(text);
    expect(address && formatResolver(address)).toBe(text);
  },
);

test.each([
  "",
  "1.2.3",
  "1.2.3.256",
  "01.2.3.4",
  "1.2.3.4.5",
  ":::",
  "1::2::3",
  "12345::",
  "fe80::1%eth0",
  "1:2:3:4:5:6:7",
  "x",
])("%s is no address", (text) => expect(parseIp(text)).toBeUndefined());

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

test.each(["10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "::/129", "/8", "*", "10.0.0.0/8 "])(
  "%s is no prefix",
  (text) => expect(parsePrefix(text)).toBeUndefined(),
);

test.each([
  { address: "127.8.9.1", loopback: true, link: false },
  { address: "::1", loopback: true, link: false },
  { address: "169.254.1.1", loopback: false, link: true },
  { address: "fe80::1", loopback: false, link: true },
  { address: "ff02::1", loopback: false, link: true },
  { address: "224.0.0.1", loopback: false, link: true },
  { address: "10.0.0.1", loopback: false, link: false },
  { address: "2001:db8::1", loopback: false, link: false },
])("$address: loopback $loopback, link-local $link", ({ address, loopback, link }) => {
  const parsed = parseIp(address);
  expect(parsed && { loopback: isLoopback(parsed), link: isLinkLocal(parsed) }).toEqual({ loopback, link });
});

const words = fc.array(fc.nat({ max: 0xffffffff }), { minLength: 4, maxLength: 4 });

test("parsing inverts printing, for every address", () => {
  fc.assert(
    fc.property(fc.oneof(words, fc.tuple(fc.nat({ max: 0xffffffff }))), (value) => {
      const address = { family: value.length === 1 ? (4 as const) : (6 as const), words: value };
      expect(parseIp(formatIp(address))).toEqual(address);
    }),
  );
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

test("any text gives an address or nothing, never a throw", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      parseIp(text);
      parsePrefix(text);
    }),
  );
});
