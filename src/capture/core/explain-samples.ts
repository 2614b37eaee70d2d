import { bracketHost } from "../../net/host-port.ts";
import { formatIp, parseIp } from "../../net/ip.ts";
import { maskPrefix, parsePrefix } from "../../net/ip-prefix.ts";
import { type CaptureSettings, splitList } from "./settings.ts";

export interface Sample {
  readonly title: string;
  /** In the syntax of `--packet`. */
  readonly packet: string;
}

const MAX_EACH = 3;

/** Packets that show what the settings mean: each list of the settings is represented by its first entries. */
export function explainSamples(settings: CaptureSettings): readonly Sample[] {
  const host = parseIp(settings.hostIp);
  const v4 = samples(settings, host?.family === 4 ? settings.hostIp : "10.0.0.10", "203.0.113.7", "127.0.0.1");
  if (!settings.ipv6) return v4;
  return [
    ...v4,
    ...samples(settings, host?.family === 6 ? `[${settings.hostIp}]` : "[2001:db8::10]", "[2001:db8:ffff::7]", "[::1]"),
  ];
}

function samples(settings: CaptureSettings, own: string, remote: string, loopback: string): readonly Sample[] {
  const version = own.startsWith("[") ? 6 : 4;
  const [proxy = "1337"] = splitList(settings.proxyUid).filter((uid) => /^\d+$/.test(uid));
  const passthrough = version === 4 ? "127.0.0.6" : "[::6]";
  const tcp = (title: string, from: string, to: string, rest = ""): Sample => ({
    title,
    packet: `tcp ${from}:40000 -> ${to}${rest}`,
  });
  return [
    ...inboundPorts(settings).map(({ title, port }) => tcp(title, remote, `${own}:${port}`, " in eth0")),
    ...first(settings.excludeInterfaces).map((name) =>
      tcp(`inbound from ${name}`, remote, `${own}:8080`, ` in ${name}`),
    ),
    ...first(settings.virtualInterfaces).map((name) =>
      tcp(`from virtual interface ${name}`, own, `${remote}:80`, ` in ${name}`),
    ),
    tcp("outbound, application", own, `${remote}:80`, " uid 1000 out eth0"),
    tcp("outbound, proxy", own, `${remote}:80`, ` uid ${proxy} out eth0`),
    ...first(settings.outboundPortsExclude).map((port) =>
      tcp(`outbound to excluded port ${port}`, own, `${remote}:${firstOf(port)}`, " uid 1000 out eth0"),
    ),
    ...first(settings.outboundPortsInclude).map((port) =>
      tcp(`outbound to included port ${port}`, own, `${remote}:${firstOf(port)}`, " uid 1000 out eth0"),
    ),
    ...ranges(settings.outboundIpRangesInclude, version).map(([range, address]) =>
      tcp(`outbound to included ${range}`, own, `${address}:80`, " uid 1000 out eth0"),
    ),
    ...ranges(settings.outboundIpRangesExclude, version).map(([range, address]) =>
      tcp(`outbound to excluded ${range}`, own, `${address}:80`, " uid 1000 out eth0"),
    ),
    tcp("application to its own address", own, `${own}:8080`, " uid 1000 out lo"),
    tcp("application to localhost", loopback, `${loopback}:8080`, " uid 1000 out lo"),
    tcp("proxy to its own pod (self-call)", own, `${own}:8080`, ` uid ${proxy} out lo`),
    tcp("proxy to localhost", loopback, `${loopback}:8080`, ` uid ${proxy} out lo`),
    tcp("proxy to the application behind it", passthrough, `${own}:8080`, ` uid ${proxy} out lo`),
    ...dns(settings, own, remote, version, proxy),
    { title: "UDP out", packet: `udp ${own}:40000 -> ${remote}:443 uid 1000 out eth0` },
    { title: "UDP in", packet: `udp ${remote}:40000 -> ${own}:8080 in eth0` },
    { title: "ICMP out", packet: `icmp ${own} -> ${remote} uid 1000 out eth0` },
    { title: "ICMP in", packet: `icmp ${remote} -> ${own} in eth0` },
  ];
}

function inboundPorts(settings: CaptureSettings) {
  const named = [
    ...first(settings.inboundPortsInclude === "*" ? "" : settings.inboundPortsInclude),
    ...first(settings.inboundPortsExclude),
    settings.inboundTunnelPort,
    "8080",
  ];
  return [...new Set(named)].map((port) => ({ title: `inbound to port ${port}`, port: firstOf(port) }));
}

function dns(settings: CaptureSettings, own: string, remote: string, version: 4 | 6, proxy: string): readonly Sample[] {
  const resolvers = version === 4 ? settings.dnsServersV4 : settings.dnsServersV6;
  const servers = [...resolvers.slice(0, MAX_EACH).map(bracketHost), remote];
  return servers.flatMap((server) => {
    const kind = server === remote ? "another server" : "the resolver";
    return [
      { title: `DNS over UDP to ${kind}`, packet: `udp ${own}:40000 -> ${server}:53 uid 1000 out eth0` },
      { title: `DNS over TCP to ${kind}`, packet: `tcp ${own}:40000 -> ${server}:53 uid 1000 out eth0` },
      { title: `DNS by the agent to ${kind}`, packet: `udp ${own}:40000 -> ${server}:53 uid ${proxy} out eth0` },
    ];
  });
}

function first(list: string): readonly string[] {
  return splitList(list).slice(0, MAX_EACH);
}

function firstOf(range: string): string {
  return range.split(":")[0] ?? range;
}

/** Prefixes of one version with an address inside each, written as the packet syntax wants it. */
function ranges(list: string, version: 4 | 6): readonly (readonly [range: string, address: string])[] {
  return splitList(list === "*" ? "" : list)
    .flatMap((text) => {
      const prefix = parsePrefix(text);
      if (prefix?.address.family !== version) return [];
      const { words } = maskPrefix(prefix).address;
      const inside = formatIp({ family: version, words: words.with(-1, ((words.at(-1) ?? 0) | 1) >>> 0) });
      return [[text, bracketHost(inside)] as const];
    })
    .slice(0, MAX_EACH);
}
