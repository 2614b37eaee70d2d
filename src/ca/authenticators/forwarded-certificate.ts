import { splitHostPort } from "../../net/host-port.ts";
import { parseIp } from "../../net/ip.ts";
import { type IpPrefix, isInPrefixes, parsePrefixOrIp } from "../../net/ip-prefix.ts";
import { AuthenticationError, type Authenticator } from "./authenticator.ts";

const HEADER = "x-forwarded-client-cert";

/**
 * Believes gateways that ended TLS for their clients, and what they say of the clients' certificates. Only callers in the given ranges are
 * gateways: everybody else can write the header as well.
 */
export function forwardedCertificateAuthenticator(ranges: readonly string[]): Authenticator {
  const name = "XfccAuthenticator";
  const gateways = ranges.map((range) => {
    const prefix = parsePrefixOrIp(range);
    if (prefix !== undefined) return prefix;
    throw new Error(`TRUSTED_GATEWAY_CIDR has ${JSON.stringify(range)}, expected addresses or ranges like 10.0.0.0/8`);
  });
  return {
    name,
    authenticate: async ({ peer, metadata }) => {
      const [header] = metadata.getAll(HEADER);
      if (typeof header !== "string") throw new AuthenticationError("no-credentials", `no ${HEADER} header`);
      if (!isGateway(gateways, peer.address)) {
        throw new AuthenticationError("refused", `the peer is not in a trusted network: ${HEADER} does not count`);
      }
      const identities = forwardedNames(header);
      if (identities.length > 0) return { identities, source: name };
      throw new AuthenticationError("refused", `${HEADER} has no identity`);
    },
  };
}

/** Of each certificate in the header its URIs, then its DNS names, then its common name: the first one is whose certificate it is. */
export function forwardedNames(header: string): readonly string[] {
  return splitOutsideQuotes(header, ",").flatMap((element) => {
    const pairs = splitOutsideQuotes(element, ";").map((pair) => {
      const equals = pair.indexOf("=");
      const key = pair.slice(0, Math.max(equals, 0)).trim().toLowerCase();
      return { key, value: unquote(pair.slice(equals + 1).trim()) };
    });
    const values = (wanted: string) => pairs.flatMap(({ key, value }) => (key === wanted ? [value] : []));
    const names = [...values("uri"), ...values("dns"), ...values("subject").map(commonName)];
    return names.filter((name) => name !== "");
  });
}

function commonName(subject: string): string {
  const [, name = ""] = /(?:^|[,/])\s*CN=((?:\\.|[^,\\/])+)/i.exec(subject) ?? [];
  return name.replace(/\\(.)/g, "$1");
}

function isGateway(gateways: readonly IpPrefix[], peerAddress: string): boolean {
  const split = splitHostPort(peerAddress);
  const ip = parseIp("problem" in split ? peerAddress : split.host);
  return ip !== undefined && isInPrefixes(gateways, ip);
}

function splitOutsideQuotes(text: string, separator: "," | ";"): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') isQuoted = !isQuoted;
    else if (text[at] === separator && !isQuoted) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}

function unquote(value: string): string {
  return value.length > 1 && value.startsWith('"') && value.endsWith('"')
    ? value.slice(1, -1).replace(/\\(.)/g, "$1")
    : value;
}
