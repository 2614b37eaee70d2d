import { isIP } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseCidr } from "./cidr.ts";

test.each([
  { text: "10.1.2.3/24", range: "10.1.2.0/24" },
  { text: "10.1.2.3", range: "10.1.2.3/32" },
  { text: "255.255.255.255/9", range: "255.128.0.0/9" },
  { text: "1.2.3.4/0", range: "0.0.0.0/0" },
  { text: "2001:DB8:0:0:1::7/64", range: "2001:db8::/64" },
  { text: "2001:db8::1", range: "2001:db8::1/128" },
  { text: "::ffff:1.2.3.4/120", range: "::ffff:1.2.3.0/120" },
  { text: "fe80::1%eth0", range: "fe80::1/128" },
])("$text is the range $range", ({ text, range }) => {
  const { addressPrefix, prefixLen } = parseCidr(text) ?? {};
  expect(`${addressPrefix}/${prefixLen}`).toBe(range);
});

test.each(["", "host.example", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "::/129", "1.2.3.4/8/9", "1.2.3/8"])(
  "%j is no range",
  (text) => {
    expect(parseCidr(text)).toBeUndefined();
  },
);

test("a range is a range of itself, and its prefix an address", () => {
  fc.assert(
    fc.property(fc.oneof(fc.tuple(fc.ipV4(), fc.nat(32)), fc.tuple(fc.ipV6(), fc.nat(128))), ([address, length]) => {
      const { addressPrefix = "", prefixLen } = parseCidr(`${address}/${length}`) ?? {};
      expect(prefixLen).toBe(length);
      expect(isIP(addressPrefix)).toBe(isIP(address));
      expect(parseCidr(`${addressPrefix}/${prefixLen}`)).toEqual({ addressPrefix, prefixLen });
    }),
  );
});
