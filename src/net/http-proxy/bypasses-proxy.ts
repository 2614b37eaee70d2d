import type { HostPort } from "../host-port.ts";
import { isIP, isLoopback, parseIp } from "../ip.ts";
import { type IpPrefix, isInPrefixes, parsePrefix, parsePrefixOrIp } from "../ip-prefix.ts";

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

function matches(entry: string, host: string, port: number): boolean {
  if (entry === "") return false;
  if (entry === "*") return true;
  if (entry.includes("/")) return isInRange(parsePrefix(entry), host);
  const [, bracketed, plain, portText] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry) ?? [];
  const name = bracketed ?? plain ?? (isIP(entry) === 6 ? entry : undefined);
  if (name === undefined || (portText !== undefined && Number(portText) !== port)) return false;
  if (isIP(name) !== 0 || isIP(host) !== 0) return isInRange(parsePrefixOrIp(name), host);
  const suffix = name.replace(/^\*(?=\.)/, "");
  if (suffix.startsWith(".")) return host.endsWith(suffix);
  return host === suffix || host.endsWith(`.${suffix}`);
}

function isInRange(range: IpPrefix | undefined, host: string): boolean {
  const ip = parseIp(host);
  return range !== undefined && ip !== undefined && isInPrefixes([range], ip);
}
