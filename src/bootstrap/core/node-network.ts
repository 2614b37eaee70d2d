import { isIP, isLinkLocal } from "../../net/ip.ts";
import { BootstrapError } from "../bootstrap-error.ts";

/** Addresses that listeners and clusters of the bootstrap use, after the families of the node's addresses. */
export interface NodeNetwork {
  readonly localhost: string;
  readonly wildcard: string;
  readonly dnsLookupFamily: "V4_ONLY" | "V6_ONLY" | "ALL";
  /** The other family, in dual stack only. */
  readonly additional: { readonly localhost: string; readonly wildcard: string } | undefined;
}

const IPV4 = { localhost: "127.0.0.1", wildcard: "0.0.0.0" };
const IPV6 = { localhost: "::1", wildcard: "::" };

export function nodeNetwork(nodeIps: readonly string[], dualStack: boolean): NodeNetwork {
  const families = new Set(nodeIps.map(isIP));
  if (families.has(6) && !families.has(4)) return { ...IPV6, dnsLookupFamily: "V6_ONLY", additional: undefined };
  if (!dualStack || !families.has(6) || !families.has(4))
    return { ...IPV4, dnsLookupFamily: "V4_ONLY", additional: undefined };
  const first = nodeIps[0] ?? "";
  if (isIP(first) === 0) {
    throw new BootstrapError(
      "invalid-address",
      `dual stack needs an IP address as the first node address, got "${first}"`,
    );
  }
  const ipv6First = isIP(first) === 6 && !isLinkLocal(first);
  const [main, additional] = ipv6First ? [IPV6, IPV4] : [IPV4, IPV6];
  return { ...main, dnsLookupFamily: "ALL", additional };
}
