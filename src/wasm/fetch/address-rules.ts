import { unbracketHost } from "../../net/host-port.ts";
import { type IpAddress, parseIp } from "../../net/ip.ts";
import { isInPrefixes, parsePrefix } from "../../net/ip-prefix.ts";

export type AddressRule = (address: string) => boolean;

/** Link-local addresses answer for the machine itself (cloud metadata), and so do some outside of those ranges. */
const METADATA_NETWORKS = [
  "169.254.0.0/16",
  "224.0.0.0/24",
  "100.100.100.200/32",
  "fe80::/10",
  "ff02::/16",
  "fd00:ec2::/32",
];
const LOOPBACK_NETWORKS = ["127.0.0.0/8", "::1/128"];
const PRIVATE_IPV4_NETWORKS = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"];
const PRIVATE_NETWORKS = [...PRIVATE_IPV4_NETWORKS, "fc00::/7", "0.0.0.0/8", "::/128"];

/** Addresses no module is fetched from: what a control plane names must not reach the machine's own metadata. */
export function forbiddenAddresses(blockedCidrs: readonly string[]): AddressRule {
  return addressesIn([...METADATA_NETWORKS, ...blockedCidrs]);
}

/** RFC 1918. */
export const isPrivateIpv4 = addressesIn(PRIVATE_IPV4_NETWORKS);

/** Anything that is not out in the world. */
export const isInternalAddress = addressesIn([...METADATA_NETWORKS, ...LOOPBACK_NETWORKS, ...PRIVATE_NETWORKS]);

/** IPv4-mapped IPv6 is judged as the IPv4 address it is; so is the one inside a NAT64 address. */
function addressesIn(cidrs: readonly string[]): AddressRule {
  const prefixes = cidrs.flatMap((cidr) => parsePrefix(cidr) ?? []);
  return (text) => {
    const address = parseIp(unbracketHost(text));
    if (address === undefined) return false;
    return isInPrefixes(prefixes, address) || isInPrefixes(prefixes, withoutNat64(address));
  };
}

/** 64:ff9b::/96 carries an IPv4 address. */
function withoutNat64(address: IpAddress): IpAddress {
  const [first, second, third, fourth = 0] = address.words;
  return first === 0x64ff9b && second === 0 && third === 0 ? { family: 4, words: [fourth] } : address;
}
