import { BlockList, isIP } from "node:net";

/** Where a connection goes, before its name is resolved. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/**
 * Whether a target is reached without the proxy, by the rules that Go programs follow: this machine always, and what NO_PROXY lists.
 * An entry is `*`, an address, a CIDR, `name` (with its subdomains) or `.name` (its subdomains only), each but the CIDR with an
 * optional `:port`. Entries that are none of these match nothing.
 */
export function bypassesProxy({ host, port }: HostPort, noProxy: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  if (name === "localhost" || isLoopback(name)) return true;
  return noProxy.split(",").some((entry) => matches(entry.trim().toLowerCase(), name, port));
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

function isLoopback(host: string): boolean {
  return isIP(host) !== 0 && loopback.check(host, family(host));
}

function matches(entry: string, host: string, port: number): boolean {
  if (entry === "") return false;
  if (entry === "*") return true;
  if (entry.includes("/")) return inSubnet(entry, host);
  const [, bracketed, plain, portText] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry) ?? [];
  const name = bracketed ?? plain ?? (isIP(entry) === 6 ? entry : undefined);
  if (name === undefined || (portText !== undefined && Number(portText) !== port)) return false;
  if (isIP(name) !== 0 || isIP(host) !== 0) return isSameAddress(name, host);
  const suffix = name.replace(/^\*(?=\.)/, "");
  if (suffix.startsWith(".")) return host.endsWith(suffix);
  return host === suffix || host.endsWith(`.${suffix}`);
}

/** IPv6 has many spellings of one address. */
function isSameAddress(one: string, other: string): boolean {
  if (isIP(one) === 0 || isIP(other) === 0) return false;
  const list = new BlockList();
  list.addAddress(one, family(one));
  return list.check(other, family(other));
}

function inSubnet(entry: string, host: string): boolean {
  const [network = "", bits = ""] = entry.split("/");
  const limit = isIP(network) === 4 ? 32 : 128;
  if (isIP(network) === 0 || isIP(host) === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > limit) return false;
  const subnet = new BlockList();
  subnet.addSubnet(network, Number(bits), family(network));
  return subnet.check(host, family(host));
}

function family(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 4 ? "ipv4" : "ipv6";
}
