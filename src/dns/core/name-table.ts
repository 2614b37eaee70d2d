import { type IpAddress, parseIp } from "../../net/ip.ts";
import { RECORD_CLASS, RECORD_TYPE } from "../../protocol/dns/constants.ts";
import { canonicalName, type DomainName, parentName } from "../../protocol/dns/name.ts";
import type { NameInfo, NameTable } from "../../xds/name-table.ts";
import { alternateHosts, KUBERNETES_REGISTRY, type ProxyScope } from "./alternate-hosts.ts";

/** Owner pointer to the question, type, class, TTL, length and address. */
export const A_RECORD_BYTES = 16;
export const AAAA_RECORD_BYTES = 28;

/** One table entry; all its names share it. The records are encoded once, in `LookupTable.records`. */
export interface HostEntry {
  /** As the control plane wrote it. */
  readonly host: string;
  readonly ownName: DomainName;
  readonly isKubernetes: boolean;
  /** A records from here, AAAA records right behind them. */
  readonly start: number;
  readonly ipv4Count: number;
  readonly ipv6Count: number;
}

/** Immutable; a push builds a new one aside and swaps the reference. */
export interface LookupTable {
  readonly hosts: ReadonlyMap<DomainName, HostEntry>;
  /** By the name below which the wildcard holds: "*.a.b." is under "a.b.". */
  readonly wildcards: ReadonlyMap<DomainName, HostEntry>;
  readonly records: Buffer;
  readonly ttlSeconds: number;
}

export interface TableOptions {
  readonly scope: ProxyScope;
  readonly ttlSeconds: number;
  readonly altHosts: boolean;
  readonly wildcards: boolean;
}

/** Entries without a usable address are left out: such questions go upstream. */
export function buildLookupTable(message: NameTable, options: TableOptions): LookupTable {
  const steps = buildInSteps(message, options, Number.POSITIVE_INFINITY);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** The same with a pause after every `stepEntries` entries: a mesh of tens of thousands must not keep queries waiting. */
export function* buildInSteps(
  message: NameTable,
  options: TableOptions,
  stepEntries: number,
): Generator<undefined, LookupTable> {
  const hosts = new Map<DomainName, HostEntry>();
  const wildcards = new Map<DomainName, HostEntry>();
  const entries = Object.entries(message.table);
  const writer = createRecordWriter(entries, options.ttlSeconds);
  for (const [index, [host, info]] of entries.entries()) {
    if (index > 0 && index % stepEntries === 0) yield;
    const addresses = writer.write(info.ips);
    if (addresses === undefined) continue;
    const { start, ipv4Count, ipv6Count } = addresses;
    const isKubernetes = info.registry === KUBERNETES_REGISTRY;
    const entry: HostEntry = { host, ownName: canonicalName(host), isKubernetes, start, ipv4Count, ipv6Count };
    for (const alternate of alternateHosts(host, info, options.scope, options.altHosts)) {
      const name = canonicalName(alternate);
      claim(hosts, name, name, entry);
      // A bare "*" would take every name of the world: it stands for nothing but itself.
      if (options.wildcards && name.startsWith("*.") && name !== "*.") claim(wildcards, parentName(name), name, entry);
    }
  }
  return { hosts, wildcards, records: writer.records(), ttlSeconds: options.ttlSeconds };
}

/**
 * When several entries want one name the winner must not depend on the order of the push: the entry of exactly that name comes before
 * short forms, Kubernetes before others, and then the host that sorts first.
 */
function claim(names: Map<DomainName, HostEntry>, key: DomainName, name: DomainName, entry: HostEntry): void {
  const holder = names.get(key);
  if (holder === undefined || precedes(entry, holder, name)) names.set(key, entry);
}

function precedes(entry: HostEntry, holder: HostEntry, name: DomainName): boolean {
  const difference = rank(entry, name) - rank(holder, name);
  return difference === 0 ? entry.host < holder.host : difference < 0;
}

function rank(entry: HostEntry, name: DomainName): number {
  if (entry.ownName !== name) return 2;
  return entry.isKubernetes ? 0 : 1;
}

type Addresses = Pick<HostEntry, "start" | "ipv4Count" | "ipv6Count">;

/** Encodes all records of a table into one buffer, which costs the collector far less than a buffer per host. */
function createRecordWriter(entries: readonly (readonly [string, NameInfo])[], ttlSeconds: number) {
  const capacity = entries.reduce((sum, [, info]) => sum + info.ips.length, 0) * AAAA_RECORD_BYTES;
  const records = Buffer.allocUnsafe(capacity);
  let end = 0;
  // The twelve bytes before an address differ in type and length only.
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(RECORD_CLASS.IN, 4);
  head.writeUInt32BE(ttlSeconds, 6);
  const put = (type: number, words: readonly number[]) => {
    for (let index = 0; index < 12; index++) records[end + index] = head[index] ?? 0;
    records[end + 3] = type;
    records[end + 11] = words.length * 4;
    end += 12;
    for (const word of words) end = records.writeUInt32BE(word, end);
  };
  const write = (ips: readonly string[]): Addresses | undefined => {
    const start = end;
    const ipv6: IpAddress[] = [];
    let ipv4Count = 0;
    for (const ip of ips) {
      const address = parseIp(ip);
      if (address === undefined) continue;
      if (address.family === 6) ipv6.push(address);
      else {
        put(RECORD_TYPE.A, address.words);
        ipv4Count++;
      }
    }
    for (const { words } of ipv6) put(RECORD_TYPE.AAAA, words);
    return ipv4Count + ipv6.length === 0 ? undefined : { start, ipv4Count, ipv6Count: ipv6.length };
  };
  return { write, records: () => records.subarray(0, end) };
}
