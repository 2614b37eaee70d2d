import type { HostPort } from "../../net/host-port.ts";
import { formatIp, type IpAddress, isLoopback, isUnspecified, parseIp } from "../../net/ip.ts";

/** The nameservers that are not this proxy: asking ourselves would go round until every limit is reached. */
export function withoutOwnAddresses(nameservers: readonly string[], port: number, own: readonly HostPort[]): string[] {
  return nameservers.filter((server) => {
    const ip = parseIp(server);
    return ip === undefined || !own.some((address) => address.port === port && isSame(ip, address.host));
  });
}

function isSame(server: IpAddress, host: string): boolean {
  const own = parseIp(host);
  if (host === "" || isUnspecified(own)) return isLoopback(server);
  // The unspecified address as a destination means this machine.
  if (isUnspecified(server)) return isLoopback(own);
  return own !== undefined && formatIp(own) === formatIp(server);
}
