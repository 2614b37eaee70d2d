import { isIpv4, parseIp } from "./ip-address.ts";

export const DEFAULT_LISTEN = "localhost:15053";

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface ListenPlan {
  /** One UDP and one TCP socket each. An empty host is every local address; "localhost" is left to the system. */
  readonly addresses: readonly HostPort[];
  /** Forward while no name table has come: whoever owns port 53 of a machine must not take its DNS down. */
  readonly respondsBeforeSync: boolean;
  /** Port 53 was asked for without the right to take it. */
  readonly fellBack: boolean;
}

/** A wrong address comes back as its explanation. */
export function planListeners(
  requested: string,
  asRoot: boolean,
  nameservers: readonly string[],
): ListenPlan | { readonly problem: string } {
  const wantsPort53 = requested.endsWith(":53");
  const fellBack = wantsPort53 && !asRoot;
  const split = splitHostPort(requested === "" || fellBack ? DEFAULT_LISTEN : requested);
  if ("problem" in split) return split;
  const addresses = split.host === "localhost" ? loopbacks(split, nameservers) : [split];
  return { addresses, respondsBeforeSync: wantsPort53 && asRoot, fellBack };
}

/** Clients of a family exist where there is a nameserver of that family. */
function loopbacks(requested: HostPort, nameservers: readonly string[]): HostPort[] {
  const parsed = nameservers.map(parseIp).filter((address) => address !== undefined);
  const addresses: HostPort[] = [];
  if (parsed.some(isIpv4)) addresses.push({ host: "127.0.0.1", port: requested.port });
  if (parsed.some((address) => !isIpv4(address))) addresses.push({ host: "::1", port: requested.port });
  return addresses.length === 0 ? [requested] : addresses;
}

/** Go's rules and words, as the message is the one operators know. */
function splitHostPort(text: string): HostPort | { readonly problem: string } {
  const problem = (reason: string) => ({ problem: `address ${text}: ${reason}` });
  const bracketed = /^\[([^\]]*)\](.*)$/.exec(text);
  if (text.startsWith("[") && bracketed === null) return problem("missing ']' in address");
  const [, inBrackets, behind = ""] = bracketed ?? [];
  const colon = text.lastIndexOf(":");
  if (inBrackets === undefined ? colon < 0 : behind === "") return problem("missing port in address");
  const host = inBrackets ?? text.slice(0, colon);
  if (inBrackets === undefined ? host.includes(":") : !/^:[^:]*$/.test(behind))
    return problem("too many colons in address");
  const portText = text.slice(colon + 1);
  const port = Number(portText);
  if (!/^\d{1,5}$/.test(portText) || port > 65_535) return problem(`invalid port "${portText}"`);
  return { host, port };
}
