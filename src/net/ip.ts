/**
 * IP addresses without node:net: its own check for IPv6 compiles an expression for four milliseconds when first used, and pure code may
 * not import it. Words are 32 bits, most significant first: one for IPv4, four for IPv6.
 */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly words: readonly number[];
  /** `eth0` of `fe80::1%eth0`: printed, and ignored by every comparison. */
  readonly zone?: string;
}

/** Undefined for anything but an address. IPv4-mapped IPv6 stays IPv6: see `unmap`. */
export function parseIp(text: string): IpAddress | undefined {
  if (!text.includes(":")) {
    const word = parseIpv4(text);
    return word < 0 ? undefined : { family: 4, words: [word] };
  }
  const percent = text.indexOf("%");
  const groups = parseGroups(percent < 0 ? text : text.slice(0, percent));
  if (groups === undefined) return undefined;
  const words = [pair(groups, 0), pair(groups, 2), pair(groups, 4), pair(groups, 6)];
  if (percent < 0) return { family: 6, words };
  const zone = text.slice(percent + 1);
  return ZONE.test(zone) ? { family: 6, words, zone } : undefined;
}

const ZONE = /^[0-9a-z.:-]+$/i;

/** RFC 5952: lower case, the longest run of two or more zero groups as `::`, mapped IPv4 in dotted form. */
export function formatIp({ words, family, zone }: IpAddress): string {
  const [first = 0, second = 0, third = 0, fourth = 0] = words;
  if (family === 4) return dotted(first);
  const suffix = zone === undefined ? "" : `%${zone}`;
  if (first === 0 && second === 0 && third === 0xffff) return `::ffff:${dotted(fourth)}${suffix}`;
  const groups = words.flatMap((word) => [word >>> 16, word & 0xffff]);
  const gap = longestZeroRun(groups);
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(":");
  if (gap.length < 2) return hex(groups) + suffix;
  return `${hex(groups.slice(0, gap.start))}::${hex(groups.slice(gap.start + gap.length))}${suffix}`;
}

/** 4, 6, or 0 for anything else, as of node:net. */
export function isIP(text: string): 0 | 4 | 6 {
  if (isIPv4(text)) return 4;
  return isIPv6(text) ? 6 : 0;
}

export function isIPv4(text: string): boolean {
  return parseIpv4(text) >= 0;
}

export function isIPv6(text: string): boolean {
  return text.includes(":") && parseIp(text) !== undefined;
}

/** `::ffff:10.1.1.1` is the IPv4 address it carries. */
export function unmap(address: IpAddress): IpAddress {
  const [first, second, third, fourth = 0] = address.words;
  return first === 0 && second === 0 && third === 0xffff ? { family: 4, words: [fourth] } : address;
}

/**
 * The IPv4 addresses that an IPv6 address carries, whichever way packets to it may be turned into IPv4: mapped, compatible and translated
 * (RFC 4291, 2765), NAT64 with the well-known and the local prefix (RFC 6052, 8215), 6to4, Teredo (its server and its client) and ISATAP.
 */
export function embeddedIpv4(address: IpAddress): readonly IpAddress[] {
  if (address.family === 4) return [];
  const [first = 0, second = 0, third = 0, fourth = 0] = address.words;
  const found: number[] = [];
  if (first === 0 && second === 0 && [0, 0xffff, 0xffff0000].includes(third)) found.push(fourth);
  if (first === 0x64ff9b && second === 0 && third === 0) found.push(fourth);
  // A prefix of 48 bits has the address around the reserved bits 64 to 71; longer ones below it are in use as well.
  if (first === 0x64ff9b && second >>> 16 === 1)
    found.push(fourth, (((second & 0xffff) << 16) | ((third >>> 8) & 0xffff)) >>> 0);
  if (first >>> 16 === 0x2002) found.push((((first & 0xffff) << 16) | (second >>> 16)) >>> 0);
  if (first === 0x20010000) found.push(second, ~fourth >>> 0);
  if ((third & 0xfcffffff) >>> 0 === 0x5efe) found.push(fourth);
  return found.map((word) => ({ family: 4, words: [word] }));
}

/** 127/8 or ::1. Text that is missing or not an address is not loopback. */
export function isLoopback(address: string | IpAddress | undefined): boolean {
  const ip = unmapped(address);
  if (ip === undefined) return false;
  const [first = 0, second, third, fourth] = ip.words;
  if (ip.family === 4) return first >>> 24 === 127;
  return first === 0 && second === 0 && third === 0 && fourth === 1;
}

/** 169.254/16 or fe80::/10, and the multicast ranges of the link. */
export function isLinkLocal(address: string | IpAddress | undefined): boolean {
  const ip = unmapped(address);
  if (ip === undefined) return false;
  const [first = 0] = ip.words;
  if (ip.family === 4) return first >>> 16 === 0xa9fe || first >>> 8 === 0xe00000;
  return first >>> 22 === 0xfe80 >>> 6 || (first & 0xff0f0000) >>> 0 === 0xff020000;
}

/** 0.0.0.0 or ::, which stand for every address of the machine. */
export function isUnspecified(address: string | IpAddress | undefined): boolean {
  const ip = typeof address === "string" ? parseIp(address) : address;
  return ip?.words.every((word) => word === 0) ?? false;
}

function unmapped(address: string | IpAddress | undefined): IpAddress | undefined {
  const ip = typeof address === "string" ? parseIp(address) : address;
  return ip && unmap(ip);
}

/** Four decimal numbers without leading zeros, which some parsers read as octal; else -1. By hand: name tables have tens of thousands. */
function parseIpv4(text: string): number {
  let word = 0;
  let dots = 0;
  let number = -1;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x2e) {
      if (number < 0) return -1;
      word = word * 256 + number;
      number = -1;
      dots++;
    } else {
      if (code < 0x30 || code > 0x39 || number === 0) return -1;
      number = number < 0 ? code - 0x30 : number * 10 + code - 0x30;
      if (number > 255) return -1;
    }
  }
  return dots === 3 && number >= 0 ? word * 256 + number : -1;
}

function parseGroups(text: string): number[] | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head = "", tail] = halves;
  const front = groupsOf(head, tail === undefined);
  const back = tail === undefined ? [] : groupsOf(tail, true);
  if (front === undefined || back === undefined) return undefined;
  const missing = 8 - front.length - back.length;
  if (tail === undefined) return missing === 0 ? front : undefined;
  return missing < 1 ? undefined : [...front, ...new Array<number>(missing).fill(0), ...back];
}

/** The groups of one side of `::`; only the last side may end in dotted IPv4. */
function groupsOf(text: string, isLast: boolean): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    if (isLast && index === parts.length - 1 && part.includes(".")) {
      const word = parseIpv4(part);
      if (word < 0) return undefined;
      groups.push(word >>> 16, word & 0xffff);
    } else if (GROUP.test(part)) groups.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return groups;
}

const GROUP = /^[0-9a-fA-F]{1,4}$/;

function pair(groups: readonly number[], index: number): number {
  return (((groups[index] ?? 0) << 16) | (groups[index + 1] ?? 0)) >>> 0;
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
