import { isIP } from "../ip.ts";

/**
 * How a client names the server in a handshake: neither an IP address nor a trailing dot may be sent as a server name (RFC 6066). The
 * address is what the certificate must be for.
 */
export function serverIdentity(name: string): { readonly host: string; readonly servername?: string } {
  return isIP(name) === 0 ? { servername: name.replace(/\.$/, ""), host: name } : { host: name };
}
