import { formatIp, type IpAddress, parseIp, unmap } from "./ip.ts";

/** Host bits stay: `10.1.2.3/8` prints as it was written; `maskPrefix` clears them. */
export interface IpPrefix {
  readonly address: IpAddress;
  readonly bits: number;
}

/** `address/bits` (CIDR); undefined when the address, the slash or the length is wrong. Zones have no ranges. */
export function parsePrefix(text: string): IpPrefix | undefined {
  const [, addressText = "", bitsText = ""] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const address = parseIp(addressText);
  if (address === undefined || address.zone !== undefined) return undefined;
  return Number(bitsText) > width(address) ? undefined : { address, bits: Number(bitsText) };
}

/** A CIDR, or a plain address as the range of itself. */
export function parsePrefixOrIp(text: string): IpPrefix | undefined {
  if (text.includes("/")) return parsePrefix(text);
  const address = parseIp(text);
  return address && { address, bits: width(address) };
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

/** Whether one of the ranges has the address, also when it is IPv4 written as IPv6. */
export function isInPrefixes(prefixes: readonly IpPrefix[], address: IpAddress): boolean {
  const plain = unmap(address);
  return prefixes.some((prefix) => prefixContains(prefix, address) || prefixContains(prefix, plain));
}

function width(address: IpAddress): 32 | 128 {
  return address.family === 4 ? 32 : 128;
}
