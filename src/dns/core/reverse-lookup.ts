import type { DomainName } from "../../protocol/dns/name.ts";
import { A_RECORD_BYTES, AAAA_RECORD_BYTES, type HostEntry, type LookupTable } from "./name-table.ts";

const IPV4_ZONE = ".in-addr.arpa.";
const IPV6_ZONE = ".ip6.arpa.";

/** Address bytes to the host that owns the address. */
export type ReverseIndex = ReadonlyMap<string, HostEntry>;

/** Of several hosts with one address the Kubernetes one is named, then the one that sorts first. Wildcards name no host. */
export function buildReverseIndex(table: LookupTable): ReverseIndex {
  const index = new Map<string, HostEntry>();
  for (const [name, entry] of table.hosts) {
    if (name !== entry.ownName || name.startsWith("*.")) continue;
    for (const address of addressesOf(table, entry)) {
      const holder = index.get(address);
      if (holder === undefined || precedes(entry, holder)) index.set(address, entry);
    }
  }
  return index;
}

/** The address a reverse name ("4.3.2.1.in-addr.arpa.") stands for, as bytes; undefined for other names. */
export function reverseAddress(name: DomainName): string | undefined {
  if (name.endsWith(IPV4_ZONE)) {
    const numbers = name.slice(0, -IPV4_ZONE.length).split(".").reverse();
    const valid =
      numbers.length === 4 && numbers.every((label) => /^(0|[1-9]\d{0,2})$/.test(label) && Number(label) < 256);
    return valid ? String.fromCharCode(...numbers.map(Number)) : undefined;
  }
  if (!name.endsWith(IPV6_ZONE)) return undefined;
  const digits = name.slice(0, -IPV6_ZONE.length).split(".").reverse().join("");
  return /^[0-9a-f]{32}$/.test(digits) ? Buffer.from(digits, "hex").toString("latin1") : undefined;
}

function precedes(entry: HostEntry, holder: HostEntry): boolean {
  return entry.isKubernetes === holder.isKubernetes ? entry.host < holder.host : entry.isKubernetes;
}

function* addressesOf(table: LookupTable, entry: HostEntry): Generator<string> {
  let at = entry.start;
  for (let index = 0; index < entry.ipv4Count; index++, at += A_RECORD_BYTES) {
    yield table.records.toString("latin1", at + 12, at + A_RECORD_BYTES);
  }
  for (let index = 0; index < entry.ipv6Count; index++, at += AAAA_RECORD_BYTES) {
    yield table.records.toString("latin1", at + 12, at + AAAA_RECORD_BYTES);
  }
}
