import { parseIp } from "../../net/ip.ts";
import { isInPrefixes, parsePrefix } from "../../net/ip-prefix.ts";
import type { CidrRange } from "../../protobuf/gen/envoy/config/core/v3.ts";

/** An address that is not known is in no range but the one of all addresses. */
export function isInRange({ addressPrefix = "", prefixLen = 0 }: CidrRange, address: string | undefined): boolean {
  const prefix = parsePrefix(`${addressPrefix}/${prefixLen}`);
  if (address === undefined) return prefixLen === 0;
  const ip = parseIp(address);
  return prefix !== undefined && ip !== undefined && isInPrefixes([prefix], ip);
}
