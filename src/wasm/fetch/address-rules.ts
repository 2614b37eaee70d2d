import { unbracketHost } from "../../net/host-port.ts";
import { embeddedIpv4, parseIp } from "../../net/ip.ts";
import { type IpPrefix, isInPrefixes, parsePrefix } from "../../net/ip-prefix.ts";

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

const privateIpv4 = parsePrefixes(PRIVATE_IPV4_NETWORKS);

/** RFC 1918. It widens what is allowed, so an address that only carries such a one is not. */
export const isPrivateIpv4: AddressRule = (text) => {
  const address = parseIp(unbracketHost(text));
  return address !== undefined && isInPrefixes(privateIpv4, address);
};

/** Anything that is not out in the world. */
export const isInternalAddress = addressesIn([...METADATA_NETWORKS, ...LOOPBACK_NETWORKS, ...PRIVATE_NETWORKS]);

/** An IPv6 address that carries an IPv4 one is judged as both: something on the way may turn it into IPv4. */
function addressesIn(cidrs: readonly string[]): AddressRule {
  const prefixes = parsePrefixes(cidrs);
  return (text) => {
    const address = parseIp(unbracketHost(text));
    if (address === undefined) return false;
    return [address, ...embeddedIpv4(address)].some((each) => isInPrefixes(prefixes, each));
  };
}

function parsePrefixes(cidrs: readonly string[]): readonly IpPrefix[] {
  return cidrs.flatMap((cidr) => parsePrefix(cidr) ?? []);
}
