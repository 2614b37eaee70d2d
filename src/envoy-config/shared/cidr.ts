import { formatIp } from "../../net/ip.ts";
import { maskPrefix, parsePrefixOrIp } from "../../net/ip-prefix.ts";
import type { CidrRange } from "../../protobuf/gen/envoy/config/core/v3.ts";

/**
 * `10.1.2.3/24` as the range 10.1.2.0/24, a plain address as the range of itself. Bits outside the prefix are cleared, so that equal
 * ranges look equal: Envoy refuses two filter chains whose ranges are. Undefined for what is not an address.
 */
export function parseCidr(text: string): CidrRange | undefined {
  const prefix = parsePrefixOrIp(text);
  return prefix && { addressPrefix: formatIp(maskPrefix(prefix).address), prefixLen: prefix.bits };
}
