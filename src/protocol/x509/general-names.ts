import { type IpAddress, parseIp, unmap } from "../../net/ip.ts";
import { DerReader } from "./der-reader.ts";
import { contextPrimitive, sequence } from "./der-writer.ts";

/** One subject alternative name. Kinds that carry no text (directoryName ...) have their tag as kind and an empty value. */
export interface GeneralName {
  readonly kind: "uri" | "dns" | "ip" | "email" | "other";
  readonly value: string;
}

const KIND_BY_TAG: ReadonlyMap<number, GeneralName["kind"]> = new Map([
  [0x81, "email"],
  [0x82, "dns"],
  [0x86, "uri"],
  [0x87, "ip"],
]);

/** GeneralNames from host texts: an IP literal, a `spiffe://` URI, else a DNS name. The order is unchanged. */
export function buildGeneralNames(hosts: readonly string[]): Buffer {
  return sequence(...hosts.map(generalName));
}

/** The SAN host list of a CSR is comma separated text, and is split before anything else looks at it. */
export function splitHosts(hosts: string): string[] {
  return hosts.split(",");
}

export function parseGeneralNames(der: Buffer): GeneralName[] {
  const names: GeneralName[] = [];
  const reader = new DerReader(der).sequence();
  while (!reader.atEnd) {
    const { tag, content } = reader.next();
    const kind = KIND_BY_TAG.get(tag) ?? "other";
    const value = kind === "other" ? "" : kind === "ip" ? formatIpBytes(content) : content.toString("utf8");
    names.push({ kind, value });
  }
  return names;
}

function generalName(host: string): Buffer {
  const ip = parseIp(host);
  if (ip !== undefined) return contextPrimitive(7, ipBytes(ip));
  return contextPrimitive(host.startsWith("spiffe://") ? 6 : 2, Buffer.from(host));
}

/** Four bytes for IPv4, also when it is written inside IPv6, else sixteen. */
function ipBytes(address: IpAddress): Buffer {
  const { words } = unmap(address);
  const bytes = Buffer.alloc(4 * words.length);
  for (const [index, word] of words.entries()) bytes.writeUInt32BE(word, 4 * index);
  return bytes;
}

/** Text of four or sixteen address bytes, every group written; anything else prints as hex. */
function formatIpBytes(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) return bytes.toString("hex");
  const parts = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return parts.join(":");
}
