import fc from "fast-check";
import { expect, test } from "vitest";
import { createPcapReader, decodeNflog } from "./nflog-packet.ts";

function attribute(type: number, value: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt16LE(4 + value.length, 0);
  header.writeUInt16LE(type, 2);
  return Buffer.concat([header, value, Buffer.alloc((4 - (value.length % 4)) % 4)]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const IPV4 = Buffer.from("4500003c000040004006000001020304050607080000", "hex").subarray(0, 20);

const record = Buffer.concat([
  Buffer.from([2, 0, 0x05, 0x39]),
  attribute(4, number(7)),
  attribute(9, IPV4),
  attribute(10, Buffer.from("JumpInbound\0")),
  attribute(11, number(1000)),
  attribute(14, number(1001)),
]);

test("a record gives the rule, the owner, the interfaces and the addresses", () => {
  expect(decodeNflog(record)).toEqual({
    command: "JumpInbound",
    uid: "1000",
    gid: "1001",
    inDev: "7",
    outDev: "",
    src: "1.2.3.4",
    dst: "5.6.7.8",
  });
});

test("twenty bytes of IPv6 do not reach any address, more of them do", () => {
  const header = Buffer.alloc(40);
  header[0] = 0x60;
  header[23] = 1;
  header[39] = 2;
  const of = (bytes: Buffer) => decodeNflog(Buffer.concat([Buffer.alloc(4), attribute(9, bytes)]));
  expect(of(header)).toMatchObject({ src: "::1", dst: "::2" });
  expect(of(header.subarray(0, 20))).toMatchObject({ src: "", dst: "" });
});

test("any bytes are decoded without a throw, too few give nothing", () => {
  expect(decodeNflog(Buffer.alloc(3))).toBeUndefined();
  fc.assert(fc.property(fc.uint8Array({ minLength: 4 }), (bytes) => void decodeNflog(Buffer.from(bytes))));
});

test("a capture stream is cut into records wherever the chunks end", () => {
  const packet = (body: Buffer) => {
    const header = Buffer.alloc(16);
    header.writeUInt32LE(body.length, 8);
    return Buffer.concat([header, body]);
  };
  const stream = Buffer.concat([Buffer.alloc(24), packet(Buffer.from("one")), packet(Buffer.from("three"))]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: stream.length }), { maxLength: 5 }), (cuts) => {
      const seen: string[] = [];
      const read = createPcapReader((body) => void seen.push(body.toString()));
      const ends = [...new Set(cuts), stream.length].sort((one, other) => one - other);
      let start = 0;
      for (const end of ends) {
        read(stream.subarray(start, end));
        start = end;
      }
      expect(seen).toEqual(["one", "three"]);
    }),
  );
});
