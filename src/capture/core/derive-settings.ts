import { formatIp, type IpAddress, isLinkLocal, isLoopback, parseIp, unmap } from "../../net/ip.ts";
import { GENERATION_SHAPES } from "./generations.ts";
import type { CaptureSettings } from "./settings.ts";

/** What the machine says; asked for only when a setting depends on it. */
export interface MachineFacts {
  /** Numeric id of a user, undefined when there is none of that name. */
  userId(name: string): string | undefined;
  /** IPv4 addresses of all interfaces first, then IPv6, as the kernel lists them. */
  localAddresses(): readonly string[];
  /** Text of the resolver configuration; throws when it cannot be read. */
  resolvConf(): string;
}

export interface DerivedSettings {
  readonly settings: CaptureSettings;
  readonly warnings: readonly string[];
}

export class LocalAddressError extends Error {}

/** Fills in what flags and environment left open: owner ids, the IP version, resolvers. */
export function deriveSettings(given: CaptureSettings, envoyUser: string, facts: MachineFacts): DerivedSettings {
  const uid = given.proxyUid === "" ? defaultUid(given, facts.userId(envoyUser)) : given.proxyUid;
  const addresses = usableAddresses(facts.localAddresses());
  const { host, ipv6 } = chooseFamily(addresses, given.dualStack);
  if (host === undefined) throw new LocalAddressError("no valid local IP address found");
  const resolvers = given.redirectDns && !given.captureAllDns ? parseResolvers(facts.resolvConf()) : { v4: [], v6: [] };
  return {
    settings: {
      ...given,
      proxyUid: uid,
      proxyGid: given.proxyGid === "" ? uid : given.proxyGid,
      hostIp: formatIp(host),
      ipv6,
      dnsServersV4: resolvers.v4,
      dnsServersV6: resolvers.v6,
    },
    warnings: bypassWarning(addresses, ipv6),
  };
}

/** 1.7 also spared root when no user was named. */
function defaultUid({ generation }: CaptureSettings, found: string | undefined): string {
  const uid = found ?? "1337";
  return GENERATION_SHAPES[generation].exemptsRoot ? `${uid},0` : uid;
}

export function usableAddresses(texts: readonly string[]): readonly IpAddress[] {
  return texts.flatMap((text) => {
    const address = parseIp(text);
    return address === undefined || isLoopback(address) || isLinkLocal(address) ? [] : [unmap(address)];
  });
}

/** The first address decides; with dual stack the search goes on until an IPv6 address is seen. */
export function chooseFamily(addresses: readonly IpAddress[], dualStack: boolean) {
  const [host] = addresses;
  const ipv6 = dualStack ? addresses.some((address) => address.family === 6) : host?.family === 6;
  return { host, ipv6 };
}

function bypassWarning(addresses: readonly IpAddress[], ipv6: boolean): readonly string[] {
  if (ipv6 || !addresses.some((address) => address.family === 6)) return [];
  return [
    "this machine has IPv6 addresses, but only IPv4 traffic will be captured: IPv6 traffic bypasses the proxy " +
      "(set --dual-stack or ISTIO_DUAL_STACK=true to capture both)",
  ];
}

/** Second field of the `nameserver` lines; what is not an address or has a zone is left out, as no rule could match it. */
export function parseResolvers(resolvConf: string): { readonly v4: readonly string[]; readonly v6: readonly string[] } {
  const addresses = resolvConf.split("\n").flatMap((line) => {
    const [keyword, value = ""] = line.trim().split(/\s+/);
    const address = keyword === "nameserver" ? parseIp(value) : undefined;
    return address === undefined || address.zone !== undefined ? [] : [address];
  });
  const of = (family: 4 | 6) => addresses.filter((address) => address.family === family).map(formatResolver);
  return { v4: of(4), v6: of(6) };
}

/** As the published rules write resolvers: with dots in IPv4-compatible addresses too, like the kernel's tools. */
function formatResolver(address: IpAddress): string {
  const [first, second, third, fourth = 0] = address.words;
  const isCompatible = address.family === 6 && first === 0 && second === 0 && third === 0 && fourth > 0xffff;
  return isCompatible ? `::${formatIp({ family: 4, words: [fourth] })}` : formatIp(address);
}
