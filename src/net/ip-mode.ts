import { BlockList, isIPv4 } from "node:net";
import { isIP, isIPv6 } from "./ip-literal.ts";

/** Addresses that mean something on this host or link only. */
const LOCAL = new BlockList();
LOCAL.addSubnet("127.0.0.0", 8, "ipv4");
LOCAL.addSubnet("169.254.0.0", 16, "ipv4");
LOCAL.addSubnet("224.0.0.0", 24, "ipv4");
LOCAL.addAddress("::1", "ipv6");
LOCAL.addSubnet("fe80::", 10, "ipv6");
LOCAL.addSubnet("ff02::", 16, "ipv6");

export type IpMode = "ipv4" | "ipv6" | "dual";

/** No address counts as IPv4. */
export function ipModeOf(addresses: readonly string[]): IpMode {
  if (addresses.every((address) => isIPv4(unmap(address)))) return "ipv4";
  return addresses.every((address) => isIPv6(unmap(address))) ? "ipv6" : "dual";
}

/** Loopback, link-local unicast or link-local multicast. */
export function isLocalAddress(address: string): boolean {
  const plain = withoutZone(unmap(address));
  return LOCAL.check(plain, isIPv4(plain) ? "ipv4" : "ipv6");
}

export function isUnspecified(address: string): boolean {
  return address === "0.0.0.0" || (isIPv6(address) && /^[0:]+$/.test(withoutZone(address)));
}

export function isIpAddress(text: string): boolean {
  return isIP(text) !== 0;
}

/** `::ffff:10.1.1.1` is the IPv4 address it carries. */
export function unmap(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  return mapped ?? address;
}

/** True for an IPv6 address that others can reach. */
export function isRoutableIpv6(address: string): boolean {
  return isIPv6(address) && isIPv6(unmap(address)) && !LINK_LOCAL.test(address);
}

const LINK_LOCAL = /^fe[89ab][0-9a-f]:/i;

function withoutZone(address: string): string {
  return address.split("%", 1)[0] ?? address;
}
