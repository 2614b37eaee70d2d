/** An address as 32-bit words, most significant first: one word for IPv4, four for IPv6. */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly words: readonly number[];
}

/** Host bits are kept: `10.1.2.3/8` stays what it is, as the rules print it. */
export interface IpPrefix {
  readonly address: IpAddress;
  readonly bits: number;
}

/** Undefined for anything that is no plain address; zones (`fe80::1%eth0`) are refused, no rule can express them. */
export function parseIp(text: string): IpAddress | undefined {
  if (!text.includes(":")) {
    const word = parseIpv4(text);
    return word === undefined ? undefined : { family: 4, words: [word] };
  }
  const groups = parseGroups(text);
  if (groups === undefined) return undefined;
  const words = [0, 2, 4, 6].map((index) => (((groups[index] ?? 0) << 16) | (groups[index + 1] ?? 0)) >>> 0);
  return { family: 6, words };
}

/** `address/bits`; undefined when the address, the slash or the length is wrong. */
export function parsePrefix(text: string): IpPrefix | undefined {
  const [, addressText = "", bitsText = ""] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const address = parseIp(addressText);
  if (address === undefined || Number(bitsText) > (address.family === 4 ? 32 : 128)) return undefined;
  return { address, bits: Number(bitsText) };
}

/** As the published rules write ranges: dots only in IPv4-mapped addresses. */
export function formatIp(address: IpAddress): string {
  const [first = 0, second = 0, third = 0, fourth = 0] = address.words;
  if (address.family === 4) return dotted(first);
  if (first === 0 && second === 0 && third === 0xffff) return `::ffff:${dotted(fourth)}`;
  const groups = address.words.flatMap((word) => [word >>> 16, word & 0xffff]);
  const gap = longestZeroRun(groups);
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(":");
  if (gap.length < 2) return hex(groups);
  return `${hex(groups.slice(0, gap.start))}::${hex(groups.slice(gap.start + gap.length))}`;
}

/** As the published rules write resolvers: with dots in IPv4-compatible addresses too, like the kernel's tools. */
export function formatResolver(address: IpAddress): string {
  const [first, second, third, fourth = 0] = address.words;
  const isCompatible = address.family === 6 && first === 0 && second === 0 && third === 0 && fourth > 0xffff;
  return isCompatible ? `::${dotted(fourth)}` : formatIp(address);
}

export function formatPrefix(prefix: IpPrefix): string {
  return `${formatIp(prefix.address)}/${prefix.bits}`;
}

/** The same prefix with its host bits cleared. */
export function maskPrefix(prefix: IpPrefix): IpPrefix {
  const masks = prefixMasks(prefix);
  const words = prefix.address.words.map((word, index) => (word & (masks[index] ?? 0)) >>> 0);
  return { address: { family: prefix.address.family, words }, bits: prefix.bits };
}

/** One 32-bit mask per word of the address. */
export function prefixMasks(prefix: IpPrefix): readonly number[] {
  return prefix.address.words.map((_, index) => {
    const bits = Math.min(32, Math.max(0, prefix.bits - 32 * index));
    return bits === 0 ? 0 : (0xffffffff << (32 - bits)) >>> 0;
  });
}

export function prefixContains(prefix: IpPrefix, address: IpAddress): boolean {
  if (prefix.address.family !== address.family) return false;
  const masks = prefixMasks(prefix);
  return address.words.every(
    (word, index) => ((word ^ (prefix.address.words[index] ?? 0)) & (masks[index] ?? 0)) === 0,
  );
}

/** 127/8 or ::1. */
export function isLoopback(address: IpAddress): boolean {
  const [first = 0, second, third, fourth] = address.words;
  if (address.family === 4) return first >>> 24 === 127;
  return first === 0 && second === 0 && third === 0 && fourth === 1;
}

/** 169.254/16 or fe80::/10, and the multicast ranges of the link. */
export function isLinkLocal(address: IpAddress): boolean {
  const first = address.words[0] ?? 0;
  if (address.family === 4) return first >>> 16 === 0xa9fe || first >>> 8 === 0xe00000;
  return first >>> 22 === 0xfe80 >>> 6 || (first & 0xff0f0000) >>> 0 === 0xff020000;
}

function parseIpv4(text: string): number | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
    return undefined;
  return parts.reduce((word, part) => ((word << 8) | Number(part)) >>> 0, 0);
}

function parseGroups(text: string): readonly number[] | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half) => (half === "" ? [] : expandGroups(half)));
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined;
  if (halves.length === 1) return head.length === 8 && text !== "" ? head : undefined;
  const missing = 8 - head.length - (tail?.length ?? 0);
  return missing < 1 ? undefined : [...head, ...new Array<number>(missing).fill(0), ...(tail ?? [])];
}

function expandGroups(text: string): readonly number[] | undefined {
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    const embedded = index === parts.length - 1 && part.includes(".") ? parseIpv4(part) : undefined;
    if (embedded !== undefined) groups.push(embedded >>> 16, embedded & 0xffff);
    else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return groups;
}

function dotted(word: number): string {
  return [word >>> 24, (word >>> 16) & 0xff, (word >>> 8) & 0xff, word & 0xff].join(".");
}

function longestZeroRun(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  let length = 0;
  for (const [index, group] of groups.entries()) {
    length = group === 0 ? length + 1 : 0;
    if (length > best.length) best = { start: index - length + 1, length };
  }
  return best;
}
