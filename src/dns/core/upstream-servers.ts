import { parseIp } from "./ip-address.ts";
import type { HostPort } from "./listen-plan.ts";

/** The nameservers that are not this proxy: asking ourselves would go round until every limit is reached. */
export function withoutOwnAddresses(nameservers: readonly string[], port: number, own: readonly HostPort[]): string[] {
  return nameservers.filter((server) => !own.some((address) => address.port === port && isSame(server, address.host)));
}

function isSame(server: string, host: string): boolean {
  const text = parseIp(server)?.text;
  if (text === undefined) return false;
  if (host === "" || host === "::" || host === "0.0.0.0") return text === "::1" || text.startsWith("127.");
  // The unspecified address as a destination means this machine.
  return text === parseIp(host)?.text || ((text === "0.0.0.0" || text === "::") && isLoopback(host));
}

function isLoopback(host: string): boolean {
  return host.startsWith("127.") || host === "::1";
}
