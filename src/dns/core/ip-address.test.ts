import { isIP } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isIpv4, parseIp } from "./ip-address.ts";

const hex = (bytes: string) => Buffer.from(bytes, "latin1").toString("hex");

test.each([
  { text: "1.2.3.4", bytes: "01020304", shown: "1.2.3.4" },
  { text: "255.255.255.255", bytes: "ffffffff", shown: "255.255.255.255" },
  { text: "::", bytes: "0".repeat(32), shown: "::" },
  { text: "::1", bytes: `${"0".repeat(31)}1`, shown: "::1" },
  { text: "2001:DB8::FF00:42:8329", bytes: "20010db8000000000000ff0000428329", shown: "2001:db8::ff00:42:8329" },
  { text: "2001:db8:0:0:1:0:0:1", bytes: "20010db8000000000001000000000001", shown: "2001:db8::1:0:0:1" },
  { text: "1:2:3:4:5:6:7:0", bytes: "00010002000300040005000600070000", shown: "1:2:3:4:5:6:7:0" },
  { text: "::ffff:1.2.3.4", bytes: "00000000000000000000ffff01020304", shown: "::ffff:1.2.3.4" },
  { text: "::ffff:102:304", bytes: "00000000000000000000ffff01020304", shown: "::ffff:1.2.3.4" },
  { text: "64:ff9b::1.2.3.4", bytes: "0064ff9b000000000000000001020304", shown: "64:ff9b::102:304" },
  { text: "fe80::1%eth0", bytes: "fe800000000000000000000000000001", shown: "fe80::1%eth0" },
])("$text is the address $shown", ({ text, bytes, shown }) => {
  const address = parseIp(text);
  expect(address?.text).toBe(shown);
  expect(hex(address?.bytes ?? "")).toBe(bytes);
  expect(address && isIpv4(address)).toBe(bytes.length === 8);
});

test.each([
  "",
  "1.2.3",
  "1.2.3.4.5",
  "1.2.3.256",
  "01.2.3.4",
  "1.2.3.4.",
  "1.2.3.-4",
  "a.b.c.d",
  "172.217.0.0/16",
  ":",
  ":::",
  "1::2::3",
  "1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:8:9",
  "12345::",
  "::g",
  "1.2.3.4::",
  "::1%",
  "1:2:3:4:5:6:7::8",
  "[::1]",
])("'%s' is no address", (text) => {
  expect(parseIp(text)).toBeUndefined();
});

test("every address the runtime knows is read, and its canonical text names the same bytes", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const address = parseIp(text);
      // fast-check also spells "a:b:c:d:e:f:g::", eight groups with an empty run, which nobody else accepts.
      if (isIP(text) === 0) return;
      expect(address).toBeDefined();
      expect(isIP(address?.text ?? "")).toBe(isIP(text));
      expect(parseIp(address?.text ?? "")?.bytes).toBe(address?.bytes);
    }),
    { numRuns: 1_000 },
  );
});
