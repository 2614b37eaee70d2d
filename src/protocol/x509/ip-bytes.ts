import { isIPv4 } from "node:net";

/** Bytes of a valid IP literal: four for IPv4, also when it is written inside IPv6, else sixteen. */
export function parseIp(literal: string): Buffer {
  if (isIPv4(literal)) return ipv4Bytes(literal);
  const [address = ""] = literal.split("%");
  const [head = "", tail] = address.split("::");
  const before = groups(head);
  const after = tail === undefined ? Buffer.alloc(0) : groups(tail);
  const bytes = Buffer.concat([before, Buffer.alloc(16 - before.length - after.length), after]);
  return isMapped(bytes) ? bytes.subarray(12) : bytes;
}

/** Text of four or sixteen address bytes; anything else prints as hex. */
export function formatIp(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) return bytes.toString("hex");
  const parts = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return parts.join(":");
}

function groups(text: string): Buffer {
  if (text === "") return Buffer.alloc(0);
  return Buffer.concat(
    text
      .split(":")
      .map((group) => (group.includes(".") ? ipv4Bytes(group) : Buffer.from(group.padStart(4, "0"), "hex"))),
  );
}

function ipv4Bytes(literal: string): Buffer {
  return Buffer.from(literal.split(".").map(Number));
}

function isMapped(bytes: Buffer): boolean {
  return bytes.readUInt32BE(0) === 0 && bytes.readUInt32BE(4) === 0 && bytes.readUInt32BE(8) === 0xffff;
}
