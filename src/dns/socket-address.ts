import { networkInterfaces } from "node:os";
import { isIP } from "../net/ip.ts";
import { DnsError } from "./errors.ts";

/** The IP address to bind for a host; names resolve to their first IPv4 address, else to their first. */
export async function bindableHost(host: string): Promise<string> {
  if (isIP(host) !== 0 || isWildcard(host)) return host;
  try {
    const { lookup } = await import("node:dns/promises");
    const found = await lookup(host, { all: true });
    const address = found.find(({ family }) => family === 4) ?? found[0];
    if (address !== undefined) return address.address;
  } catch (cause) {
    throw new DnsError("listen-failed", `listen udp: lookup ${host}: no such host`, { cause });
  }
  throw new DnsError("listen-failed", `listen udp: lookup ${host}: no such host`);
}

export function isWildcard(host: string): boolean {
  return host === "" || host === "0.0.0.0" || host === "::";
}

/** Every address of this machine that a wildcard stands for. Binding each one lets replies leave from the address that was asked. */
export function localAddresses(wildcard: string): string[] {
  const addresses: string[] = [];
  for (const [name, infos = []] of Object.entries(networkInterfaces())) {
    for (const info of infos) {
      if (info.family === "IPv4") addresses.push(info.address);
      else if (wildcard !== "0.0.0.0") addresses.push(info.scopeid ? `${info.address}%${name}` : info.address);
    }
  }
  return addresses;
}
