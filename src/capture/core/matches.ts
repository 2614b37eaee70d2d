import type { Family, Match, Target } from "./rule.ts";
import type { CaptureSettings } from "./settings.ts";

/** Short words for the conditions and targets that the steps combine. */
export const tcp: Match = { kind: "protocol", protocol: "tcp" };
/** The protocol that nftables derives from the port match. */
export const impliedTcp: Match = { kind: "protocol", protocol: "tcp", only: "iptables" };
export const impliedUdp: Match = { kind: "protocol", protocol: "udp", only: "iptables" };
export const nftTcp: Match = { kind: "protocol", protocol: "tcp", only: "nft" };

export const from = (name: string): Match => ({ kind: "in", name });
export const to = (name: string): Match => ({ kind: "out", name });
export const dport = (...ports: readonly string[]): Match => ({ kind: "dport", ports });
export const notDport = (...ports: readonly string[]): Match => ({ kind: "dport", ports, not: true });
export const sport = (port: string): Match => ({ kind: "sport", ports: [port] });
export const source = (cidr: string): Match => ({ kind: "source", cidr });
export const destination = (cidr: string): Match => ({ kind: "destination", cidr });
export const notDestination = (cidr: string): Match => ({ kind: "destination", cidr, not: true });
export const owner = (kind: "uid" | "gid", id: string): Match => ({ kind, id });
export const notOwner = (kind: "uid" | "gid", id: string): Match => ({ kind, id, not: true });
export const mark = (value: string): Match => ({ kind: "mark", value });
export const established: Match = { kind: "ctstate", states: ["RELATED", "ESTABLISHED"] };
export const invalid: Match = { kind: "ctstate", states: ["INVALID"] };

export const jump = (chain: string): Target => ({ kind: "jump", chain });
export const done: Target = { kind: "return" };
export const redirect = (port: string): Target => ({ kind: "redirect", port });
export const zone = (number: string): Target => ({ kind: "zone", zone: number });

/** The loopback match of a family. */
export function loopback(settings: CaptureSettings, family: Family): string {
  return family === "v4" ? settings.loopbackCidr : "::1/128";
}

/** Source of the proxy's connections to the application behind it. */
export function passthrough(family: Family): string {
  return family === "v4" ? "127.0.0.6/32" : "::6/128";
}

/** A resolver as a prefix of full length. */
export function host(address: string, family: Family): string {
  return `${address}/${family === "v4" ? 32 : 128}`;
}
