import { type HostPort, parsePort, splitHostPort } from "../../net/host-port.ts";
import { isIPv4, isIPv6 } from "../../net/ip.ts";

export const DEFAULT_LISTEN = "localhost:15053";

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
  const split = parseListen(requested === "" || fellBack ? DEFAULT_LISTEN : requested);
  if ("problem" in split) return split;
  const addresses = split.host === "localhost" ? loopbacks(split, nameservers) : [split];
  return { addresses, respondsBeforeSync: wantsPort53 && asRoot, fellBack };
}

/** Clients of a family exist where there is a nameserver of that family. */
function loopbacks(requested: HostPort, nameservers: readonly string[]): HostPort[] {
  const addresses: HostPort[] = [];
  if (nameservers.some(isIPv4)) addresses.push({ host: "127.0.0.1", port: requested.port });
  if (nameservers.some(isIPv6)) addresses.push({ host: "::1", port: requested.port });
  return addresses.length === 0 ? [requested] : addresses;
}

/** Go's rules and words, as the message is the one operators know. */
function parseListen(text: string): HostPort | { readonly problem: string } {
  const split = splitHostPort(text);
  if ("problem" in split) return split;
  const port = parsePort(split.port);
  return port === undefined ? { problem: `address ${text}: invalid port "${split.port}"` } : { host: split.host, port };
}
