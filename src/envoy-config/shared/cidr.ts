import { isIP } from "../../net/ip-literal.ts";
import type { CidrRange } from "../../protobuf/gen/envoy/config/core/v3.ts";

/**
 * `10.1.2.3/24` as the range 10.1.2.0/24, a plain address as the range of itself. Bits outside the prefix are cleared, so that equal
 * ranges look equal: Envoy refuses two filter chains whose ranges are. Undefined for what is no address.
 */
export function parseCidr(text: string): CidrRange | undefined {
  const [address = "", length, ...rest] = text.split("/");
  const width = WIDTHS[isIP(address)];
  if (width === undefined || rest.length > 0) return undefined;
  const prefixLen = length === undefined ? width : Number(length);
  if (!/^\d+$/.test(length ?? "0") || prefixLen > width) return undefined;
  const masked =
    width === 32 ? maskGroups(ipv4Groups(address), 8, prefixLen) : maskGroups(ipv6Groups(address), 16, prefixLen);
  return { addressPrefix: width === 32 ? masked.join(".") : formatIpv6(masked), prefixLen };
}

const WIDTHS = { 0: undefined, 4: 32, 6: 128 } as const;

function maskGroups(groups: readonly number[], bits: number, prefixLen: number): readonly number[] {
  return groups.map((group, index) => {
    const kept = Math.min(bits, Math.max(0, prefixLen - index * bits));
    return group & ~((1 << (bits - kept)) - 1);
  });
}

function ipv4Groups(address: string): readonly number[] {
  return address.split(".").map(Number);
}

function ipv6Groups(address: string): readonly number[] {
  // URL knows every spelling of an IPv6 address, also those that end in an IPv4 one, and writes one of them.
  const canonical = new URL(`http://[${address.split("%", 1)[0]}]`).hostname.slice(1, -1);
  const [head = "", tail] = canonical.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - front.length - back.length }, () => "0");
  return [...front, ...zeros, ...back].map((group) => Number.parseInt(group, 16));
}

function formatIpv6(groups: readonly number[]): string {
  return new URL(`http://[${groups.map((group) => group.toString(16)).join(":")}]`).hostname.slice(1, -1);
}
