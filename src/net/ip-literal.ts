import { isIPv4, SocketAddress } from "node:net";

/** 4, 6, or 0 for anything else, as of node:net, whose own check for IPv6 compiles an expression for four milliseconds when first used. */
export function isIP(text: string): 0 | 4 | 6 {
  if (isIPv4(text)) return 4;
  return isIPv6(text) ? 6 : 0;
}

/** A zone (`%eth0`) may follow. */
export function isIPv6(text: string): boolean {
  const [, address = "", zone] = /^([0-9a-f:.]+)(%[0-9a-z.:-]+)?$/i.exec(text) ?? [];
  if (!address.includes(":") || zone === "%") return false;
  try {
    return new SocketAddress({ address, family: "ipv6" }).family === "ipv6";
  } catch {
    return false;
  }
}
