import * as net from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  embeddedIpv4,
  formatIp,
  type IpAddress,
  isIP,
  isIPv6,
  isLinkLocal,
  isLoopback,
  isUnspecified,
  parseIp,
  unmap,
} from "./ip.ts";

const hex = ({ words }: IpAddress) => words.map((word) => word.toString(16).padStart(8, "0")).join("");

test.each([
  { text: "1.2.3.4", bytes: "01020304", canonical: "1.2.3.4" },
  { text: "255.255.255.255", bytes: "ffffffff", canonical: "255.255.255.255" },
  { text: "::", bytes: "0".repeat(32), canonical: "::" },
  { text: "::1", bytes: `${"0".repeat(31)}1`, canonical: "::1" },
  { text: "2001:DB8::FF00:42:8329", bytes: "20010db8000000000000ff0000428329", canonical: "2001:db8::ff00:42:8329" },
  { text: "2001:db8:0:0:1:0:0:1", bytes: "20010db8000000000001000000000001", canonical: "2001:db8::1:0:0:1" },
  { text: "1:2:3:4:5:6:7:8", bytes: "00010002000300040005000600070008", canonical: "1:2:3:4:5:6:7:8" },
  { text: "1:2:3:4:5:6:7:0", bytes: "00010002000300040005000600070000", canonical: "1:2:3:4:5:6:7:0" },
  { text: "1::8", bytes: "00010000000000000000000000000008", canonical: "1::8" },
  { text: "1::2:3:4:5:6:7", bytes: "00010000000200030004000500060007", canonical: "1:0:2:3:4:5:6:7" },
  { text: "fd00:0:0:1::", bytes: "fd000000000000010000000000000000", canonical: "fd00:0:0:1::" },
  { text: "::ffff:1.2.3.4", bytes: "00000000000000000000ffff01020304", canonical: "::ffff:1.2.3.4" },
  { text: "::ffff:102:304", bytes: "00000000000000000000ffff01020304", canonical: "::ffff:1.2.3.4" },
  { text: "::127.0.0.53", bytes: "0000000000000000000000007f000035", canonical: "::7f00:35" },
  { text: "64:ff9b::1.2.3.4", bytes: "0064ff9b000000000000000001020304", canonical: "64:ff9b::102:304" },
  { text: "1:2:3:4:5:6:1.2.3.4", bytes: "00010002000300040005000601020304", canonical: "1:2:3:4:5:6:102:304" },
  { text: "fe80::1%eth0", bytes: "fe800000000000000000000000000001", canonical: "fe80::1%eth0" },
])("$text is an address and prints as $canonical", ({ text, bytes, canonical }) => {
  const address = parseIp(text);
  expect(address && [hex(address), formatIp(address), address.family]).toEqual([
    bytes,
    canonical,
    bytes.length === 8 ? 4 : 6,
  ]);
  expect([isIP(text), isIPv6(text)]).toEqual(bytes.length === 8 ? [4, false] : [6, true]);
});

test.each([
  "",
  ":",
  ":::",
  "x",
  "localhost",
  "1.2.3",
  "1.2.3.4.5",
  "1.2.3.256",
  "256.0.0.1",
  "01.2.3.4",
  "1.2.3.4.",
  "1.2.3.-4",
  "1.2.3.4%x",
  "1.2.3.4::",
  "172.217.0.0/16",
  "1::2::3",
  "1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7::8",
  "1:2:3:4:5:6:7:8:9",
  "12345::",
  "::g",
  "::1.2.3",
  "::1%",
  "::1%a b",
  "::1\n",
  "[::1]",
])("'%s' is not an address", (text) => {
  expect([parseIp(text), isIP(text), isIPv6(text)]).toEqual([undefined, 0, false]);
});

const group = fc.stringMatching(/^[0-9a-fA-F]{0,5}$/);
const likeIPv6 = fc.array(group, { minLength: 1, maxLength: 10 }).map((groups) => groups.join(":"));

test("node:net has the same opinion", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), likeIPv6, fc.string(), fc.domain()), (text) => {
      expect(isIP(text)).toBe(net.isIP(text));
    }),
    { numRuns: 1_000 },
  );
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

test.each([
  { address: "127.0.0.1", loopback: true, link: false },
  { address: "127.255.9.6", loopback: true, link: false },
  { address: "::1", loopback: true, link: false },
  { address: "0:0:0:0:0:0:0:1", loopback: true, link: false },
  { address: "::ffff:127.0.0.1", loopback: true, link: false },
  { address: "::FFFF:127.9.9.9", loopback: true, link: false },
  { address: "169.254.1.1", loopback: false, link: true },
  { address: "::ffff:169.254.1.1", loopback: false, link: true },
  { address: "fe80::1", loopback: false, link: true },
  { address: "fe80::1%eth0", loopback: false, link: true },
  { address: "FEBF::1", loopback: false, link: true },
  { address: "fec0::1", loopback: false, link: false },
  { address: "ff02::1", loopback: false, link: true },
  { address: "224.0.0.1", loopback: false, link: true },
  { address: "224.0.1.1", loopback: false, link: false },
  { address: "128.0.0.1", loopback: false, link: false },
  { address: "10.0.0.1", loopback: false, link: false },
  { address: "::ffff:10.0.0.1", loopback: false, link: false },
  { address: "::2", loopback: false, link: false },
  { address: "2001:db8::1", loopback: false, link: false },
  { address: "127.0.0.256", loopback: false, link: false },
  { address: "127.0.0.1.example", loopback: false, link: false },
  { address: "127.0.0", loopback: false, link: false },
  { address: "localhost", loopback: false, link: false },
  { address: "", loopback: false, link: false },
  { address: undefined, loopback: false, link: false },
])("$address: loopback $loopback, link-local $link", ({ address, loopback, link }) => {
  expect([isLoopback(address), isLinkLocal(address)]).toEqual([loopback, link]);
});

test("every IPv4 address is loopback by its first octet alone, in both spellings", () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(isLoopback(address)).toBe(address.startsWith("127."));
      expect(isLoopback(`::ffff:${address}`)).toBe(address.startsWith("127."));
    }),
  );
});

test.each([
  ["0.0.0.0", true],
  ["::", true],
  ["0:0::0", true],
  ["::1", false],
  ["0.0.0.1", false],
  ["", false],
])("%s is unspecified: %s", (address, expected) => {
  expect(isUnspecified(address)).toBe(expected);
});

test("an IPv4-mapped address is unmapped, others stay", () => {
  const shown = ["::ffff:10.1.1.1", "10.1.1.1", "::10.1.1.1"].map((text) => {
    const address = parseIp(text);
    return address && formatIp(unmap(address));
  });
  expect(shown).toEqual(["10.1.1.1", "10.1.1.1", "::a01:101"]);
});

test.each([
  { text: "1.2.3.4", carries: [] },
  { text: "2606:4700::1", carries: [] },
  { text: "fe80::1", carries: [] },
  { text: "::ffff:1.2.3.4", carries: ["1.2.3.4"] },
  { text: "::1.2.3.4", carries: ["1.2.3.4"] },
  { text: "::ffff:0:1.2.3.4", carries: ["1.2.3.4"] },
  { text: "64:ff9b::1.2.3.4", carries: ["1.2.3.4"] },
  { text: "64:ff9b:1:102:3:400::", carries: ["0.0.0.0", "1.2.3.4"] },
  { text: "64:ff9b:1::1.2.3.4", carries: ["1.2.3.4", "0.0.0.0"] },
  { text: "2002:102:304::1", carries: ["1.2.3.4"] },
  { text: "2001:0:506:708::fefd:fcfb", carries: ["5.6.7.8", "1.2.3.4"] },
  { text: "2001:db8::5efe:1.2.3.4", carries: ["1.2.3.4"] },
  { text: "fe80::200:5efe:1.2.3.4", carries: ["1.2.3.4"] },
])("$text carries $carries", ({ text, carries }) => {
  const address = parseIp(text);
  expect(address && embeddedIpv4(address).map(formatIp)).toEqual(carries);
});
