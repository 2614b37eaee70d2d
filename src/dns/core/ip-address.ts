/** An address as the records carry it: 4 or 16 bytes, one latin1 character each. */
export interface IpAddress {
  readonly bytes: string;
  /** Canonical text; keeps the zone, which records cannot carry. */
  readonly text: string;
}

/** Undefined for anything but an IP address. IPv4-mapped IPv6 stays IPv6, as the control plane wrote it. */
export function parseIp(text: string): IpAddress | undefined {
  if (!text.includes(":")) return parseIpv4(text);
  const zoneAt = text.indexOf("%");
  if (zoneAt === text.length - 1) return undefined;
  const groups = parseIpv6Groups(zoneAt < 0 ? text : text.slice(0, zoneAt));
  if (groups === undefined) return undefined;
  const bytes = groups.map((group) => String.fromCharCode(group >> 8, group & 0xff)).join("");
  return { bytes, text: formatIpv6(groups) + (zoneAt < 0 ? "" : text.slice(zoneAt)) };
}

export function isIpv4(address: IpAddress): boolean {
  return address.bytes.length === 4;
}

function parseIpv4(text: string): IpAddress | undefined {
  const numbers = ipv4Numbers(text);
  return numbers && { bytes: String.fromCharCode(...numbers), text };
}

/** Four decimal numbers without leading zeros, which some parsers would read as octal. By hand: tables hold tens of thousands. */
function ipv4Numbers(text: string): number[] | undefined {
  const numbers: number[] = [];
  let number = -1;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x2e) {
      if (number < 0) return undefined;
      numbers.push(number);
      number = -1;
    } else {
      if (code < 0x30 || code > 0x39 || number === 0) return undefined;
      number = number < 0 ? code - 0x30 : number * 10 + code - 0x30;
      if (number > 255) return undefined;
    }
  }
  numbers.push(number);
  return numbers.length === 4 && number >= 0 ? numbers : undefined;
}

function parseIpv6Groups(text: string): number[] | undefined {
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

/** The groups of one side of "::"; only the last side may end in dotted IPv4. */
function groupsOf(text: string, last: boolean): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    if (last && index === parts.length - 1 && part.includes(".")) {
      const numbers = ipv4Numbers(part);
      if (numbers === undefined) return undefined;
      const [a = 0, b = 0, c = 0, d = 0] = numbers;
      groups.push((a << 8) | b, (c << 8) | d);
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return groups;
}

/** RFC 5952: lower case, the longest run of two or more zero groups as "::", mapped IPv4 in dotted form. */
function formatIpv6(groups: readonly number[]): string {
  const [, , , , , fifth = 0, high = 0, low = 0] = groups;
  if (fifth === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return `::ffff:${high >> 8}.${high & 0xff}.${low >> 8}.${low & 0xff}`;
  }
  let best = { start: -1, length: 1 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const hex = groups.map((group) => group.toString(16));
  if (best.start < 0) return hex.join(":");
  return `${hex.slice(0, best.start).join(":")}::${hex.slice(best.start + best.length).join(":")}`;
}
