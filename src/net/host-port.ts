/** A network address: a name or an IP literal without brackets, and a port. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** As it stands in addresses and URLs: brackets around IPv6. */
export function joinHostPort(host: string, port: number | string): string {
  return `${bracketHost(host)}:${port}`;
}

export function bracketHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** The host of `[host]` and of `host`. */
export function unbracketHost(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}

/** `host:port` or `[host]:port` split as Go's net package does, the port as text; the problem is in its words. */
export function splitHostPort(
  text: string,
): { readonly host: string; readonly port: string } | { readonly problem: string } {
  const colon = text.lastIndexOf(":");
  if (colon === -1) return problem(text, "missing port in address");
  let host: string;
  if (text.startsWith("[")) {
    const close = text.indexOf("]");
    if (close === -1) return problem(text, "missing ']' in address");
    if (close + 1 === text.length) return problem(text, "missing port in address");
    if (close + 1 !== colon)
      return problem(text, text[close + 1] === ":" ? "too many colons in address" : "missing port in address");
    host = text.slice(1, close);
    if (host.includes("[")) return problem(text, "unexpected '[' in address");
  } else {
    host = text.slice(0, colon);
    if (host.includes(":")) return problem(text, "too many colons in address");
    if (host.includes("[") || text.slice(colon).includes("[")) return problem(text, "unexpected '[' in address");
  }
  const rest = text.slice(text.startsWith("[") ? text.indexOf("]") + 1 : 0);
  if (rest.includes("]")) return problem(text, "unexpected ']' in address");
  return { host, port: text.slice(colon + 1) };
}

/** A decimal number from 0 to 65535. */
export function parsePort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

/** The text between is left out for an empty address, as Go does. */
function problem(text: string, reason: string): { readonly problem: string } {
  return { problem: text === "" ? reason : `address ${text}: ${reason}` };
}
