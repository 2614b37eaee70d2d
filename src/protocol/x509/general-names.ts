import { parseIp } from "../../net/ip.ts";
import { DerReader } from "./der-reader.ts";
import { contextPrimitive, sequence } from "./der-writer.ts";
import { formatIpBytes, ipBytes } from "./ip-bytes.ts";

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
