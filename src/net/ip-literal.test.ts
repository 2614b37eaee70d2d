import * as net from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isIP, isIPv6 } from "./ip-literal.ts";

const IPV6 = ["::", "::1", "fd00::2", "fe80::1%eth0", "::ffff:10.1.1.1", "2001:db8:0:0:1:0:0:1", "1::2:3:4:5:6:7"];
const NEITHER = [
  "",
  ":",
  ":::",
  "localhost",
  "10.0.0",
  "::1%",
  "::1%a b",
  "1:2:3:4:5:6:7:8:9",
  "[::1]",
  "::g",
  "1.2.3.4%x",
  "::1\n",
];

test.each(IPV6)("%s is an IPv6 address", (text) => {
  expect([isIP(text), isIPv6(text)]).toEqual([6, true]);
});

test.each(NEITHER)("'%s' is no address", (text) => {
  expect([isIP(text), isIPv6(text)]).toEqual([0, false]);
});

const group = fc.stringMatching(/^[0-9a-fA-F]{0,5}$/);
const likeIPv6 = fc.array(group, { minLength: 1, maxLength: 10 }).map((groups) => groups.join(":"));

test("node:net has the same opinion", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), likeIPv6, fc.string(), fc.domain()), (text) => {
      expect(isIP(text)).toBe(net.isIP(text));
    }),
  );
});
