import { BlockList, isIP } from "node:net";

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

export const isLoopbackAddress = addressesIn(LOOPBACK_NETWORKS);

/** RFC 1918. */
export const isPrivateIpv4 = addressesIn(PRIVATE_IPV4_NETWORKS);

/** Anything that is not out in the world. */
export const isInternalAddress = addressesIn([...METADATA_NETWORKS, ...LOOPBACK_NETWORKS, ...PRIVATE_NETWORKS]);

/** An IPv4 address in IPv6 clothes is judged as what it is; so is the one inside a NAT64 address. */
function addressesIn(cidrs: readonly string[]): AddressRule {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = "", bits = ""] = cidr.split("/");
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? "ipv4" : "ipv6");
  }
  return (address) => {
    const bare = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
    const family = isIP(bare);
    if (family === 0) return false;
    if (family === 4) return list.check(bare, "ipv4");
    const inner = embeddedIpv4(bare);
    return list.check(bare, "ipv6") || (inner !== undefined && list.check(inner, "ipv4"));
  };
}

/** Of ::ffff:0:0/96 and 64:ff9b::/96. The URL parser gives every IPv6 address one spelling. */
function embeddedIpv4(address: string): string | undefined {
  const spelled = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const found = /^(?:::ffff:|64:ff9b::)(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4})$/.exec(spelled);
  if (found === null) return undefined;
  const [high, low] = [Number.parseInt(found[1] ?? "0", 16), Number.parseInt(found[2] ?? "0", 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
