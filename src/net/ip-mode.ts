import { formatIp, isIP, isIPv6, isLinkLocal, isLoopback, parseIp, unmap } from "./ip.ts";

export type IpMode = "ipv4" | "ipv6" | "dual";

/** No address counts as IPv4. */
export function ipModeOf(addresses: readonly string[]): IpMode {
  const families = addresses.map((address) => isIP(unmapText(address)));
  if (families.every((family) => family === 4)) return "ipv4";
  return families.every((family) => family === 6) ? "ipv6" : "dual";
}

/** Loopback, link-local unicast or link-local multicast: addresses that mean something on this host or link only. */
export function isLocalAddress(address: string): boolean {
  return isLoopback(address) || isLinkLocal(address);
}

/** The IPv4 address that IPv6 text carries; other text as it is. */
export function unmapText(address: string): string {
  const ip = parseIp(address);
  return ip?.family === 6 && unmap(ip).family === 4 ? formatIp(unmap(ip)) : address;
}

/** True for an IPv6 address that others can reach. */
export function isRoutableIpv6(address: string): boolean {
  return isIPv6(unmapText(address)) && !isLinkLocal(address);
}
