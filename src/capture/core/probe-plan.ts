import { formatIp, type IpAddress, parseIp } from "../../net/ip.ts";
import { maskPrefix, parsePrefix } from "../../net/ip-prefix.ts";
import type { Rule } from "./rule.ts";
import type { OwnerNames } from "./rule-key.ts";
import { type CaptureSettings, splitList } from "./settings.ts";
import { createWalker } from "./walk.ts";

/** Addresses that validation uses for one IP version. */
export interface ProbeFamily {
  readonly name: "IPv4" | "IPv6";
  readonly listen: string;
  /** Any loopback address that the rules do not exempt. */
  readonly inboundTarget: string;
  /** A documentation address: no host has it, only capture can make a connection to it succeed. */
  readonly outboundTarget: string;
}

const V4: ProbeFamily = { name: "IPv4", listen: "127.0.0.1", inboundTarget: "127.0.0.6", outboundTarget: "192.0.2.1" };
const V6: ProbeFamily = { name: "IPv6", listen: "::1", inboundTarget: "::6", outboundTarget: "2001:db8::1" };

/** The host's own version, and IPv6 as well where it is captured next to IPv4. */
export function probeFamilies(settings: CaptureSettings): readonly ProbeFamily[] {
  const host = parseIp(settings.hostIp);
  if (host?.family === 6) return [V6];
  return settings.ipv6 ? [V4, V6] : [V4];
}

export interface OutboundProbe {
  readonly family: ProbeFamily;
  readonly uid: number;
  readonly gid: number;
  readonly port: number;
  readonly names: OwnerNames;
}

/** The first destination that, by the rules, a connection of this user would not reach directly; undefined when all are. */
export function outboundProbe(
  rules: readonly Rule[],
  settings: CaptureSettings,
  probe: OutboundProbe,
): string | undefined {
  const { family, uid, gid, port, names } = probe;
  const walk = createWalker(rules, { names, backend: settings.nativeNftables ? "nft" : "iptables" });
  const found = candidates(settings, family).find((destination) => {
    const packet = {
      protocol: "tcp",
      sourcePort: 40000,
      destinationPort: port,
      direction: "outbound",
      device: "eth0",
    } as const;
    const { fate } = walk({ ...packet, source: destination, destination, uid, gid, mark: 0, state: "NEW" });
    return fate.kind === "redirected" && fate.port === Number(settings.proxyPort);
  });
  return found === undefined ? undefined : formatIp(found);
}

function candidates(settings: CaptureSettings, family: ProbeFamily): readonly IpAddress[] {
  const ranges = splitList(settings.outboundIpRangesInclude).flatMap((text) => parsePrefix(text) ?? []);
  const version = family.name === "IPv4" ? 4 : 6;
  const inside = ranges
    .map((range) => nextAddress(maskPrefix(range).address))
    .filter((address) => address.family === version);
  const documentation = parseIp(family.outboundTarget);
  return documentation === undefined ? inside : [documentation, ...inside];
}

/** The first host of a network, rather than the network itself. */
function nextAddress(address: IpAddress): IpAddress {
  const last = address.words.length - 1;
  return {
    family: address.family,
    words: address.words.map((word, index) => (index === last ? (word | 1) >>> 0 : word)),
  };
}
