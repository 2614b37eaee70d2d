/** `host:port` or `[host]:port` split as Go's net package does; the problem is in its words. */
export type HostPort = { readonly host: string; readonly port: string } | { readonly problem: string };

export function splitHostPort(text: string): HostPort {
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

/** The text between is left out for an empty address, as Go does. */
function problem(text: string, reason: string): HostPort {
  return { problem: text === "" ? reason : `address ${text}: ${reason}` };
}
