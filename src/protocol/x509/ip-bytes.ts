import { type IpAddress, unmap } from "../../net/ip.ts";

/** Four bytes for IPv4, also when it is written inside IPv6, else sixteen. */
export function ipBytes(address: IpAddress): Buffer {
  const { words } = unmap(address);
  const bytes = Buffer.alloc(4 * words.length);
  for (const [index, word] of words.entries()) bytes.writeUInt32BE(word, 4 * index);
  return bytes;
}

/** Text of four or sixteen address bytes, every group written; anything else prints as hex. */
export function formatIpBytes(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) return bytes.toString("hex");
  const parts = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return parts.join(":");
}
