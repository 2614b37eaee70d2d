import fc from "fast-check";
import { expect, test } from "vitest";
import { formatIp } from "../../net/ip.ts";
import { formatPacket, PacketSyntaxError, parsePacket } from "./packet.ts";

const parse = (text: string) => parsePacket(text, (address) => ["10.0.0.5", "::1"].includes(formatIp(address)));

test.each([
  {
    text: "tcp 10.0.0.5:40000 -> 10.1.2.3:443 uid 1000",
    printed: "tcp 10.0.0.5:40000 -> 10.1.2.3:443 uid 1000 out eth0",
  },
  { text: "tcp 10.0.0.5 -> 10.0.0.5:80 uid 1 gid 2", printed: "tcp 10.0.0.5:40000 -> 10.0.0.5:80 uid 1 gid 2 out lo" },
  { text: "udp 9.9.9.9:53 -> 10.0.0.5:5000", printed: "udp 9.9.9.9:53 -> 10.0.0.5:5000 in eth0" },
  { text: "icmp ::1 -> ::1", printed: "icmp ::1 -> ::1 uid 1000 out lo" },
  { text: "tcp [2001:db8::1]:1 -> [fd00::1]:80 in net1", printed: "tcp [2001:db8::1]:1 -> [fd00::1]:80 in net1" },
])("$text is read as $printed", ({ text, printed }) => expect(formatPacket(parse(text))).toBe(printed));

test.each([
  { text: "sctp 1.1.1.1 -> 2.2.2.2:1", says: 'protocol "sctp" is none of tcp, udp, icmp' },
  { text: "tcp 1.1.1.1 2.2.2.2:1", says: "must follow ->" },
  { text: "tcp 1.1.1.1 -> 2.2.2.2", says: "the destination needs a port" },
  { text: "tcp 1.1.1.1 -> [::1]:1", says: "different IP versions" },
  { text: "tcp 1.1.1.1 -> 2.2.2.2:99999", says: "above 65535" },
  { text: "tcp 1.1.1.1 -> host:1", says: '"host:1" is not an address' },
  { text: "tcp 1.1.1.1 -> 2.2.2.2:1 user 1", says: 'unknown word "user"' },
  { text: "tcp 1.1.1.1 -> 2.2.2.2:1 uid", says: '"uid" needs a value' },
  { text: "tcp 1.1.1.1 -> 2.2.2.2:1 uid x", says: 'uid "x" is not a number' },
  { text: "tcp 1.1.1.1 -> 2.2.2.2:1 state open", says: "state is none of NEW" },
])("$text is refused: $says", ({ text, says }) => expect(() => parse(text)).toThrow(says));

test("any text gives a packet or the syntax error", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        parse(`tcp ${text}`);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PacketSyntaxError);
      }
    }),
  );
});
