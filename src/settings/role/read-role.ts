import { deepFreeze } from "../../base/deep-freeze.ts";
import type { Logger } from "../../base/logger.ts";
import { isIP } from "../../net/ip.ts";
import { type IpMode, ipModeOf } from "../../net/ip-mode.ts";
import { formatServiceNode, type ProxyType } from "../../xds/service-node.ts";
import { ConfigError } from "../config-error.ts";
import type { EnvReader } from "../env-reader.ts";
import type { GenerationRules } from "../generations.ts";
import type { ProxyFlags } from "../proxy-flags.ts";
import {
  type DiscoveryRetry,
  discoverAddresses,
  interfaceAddresses,
  type NetworkInterfaces,
} from "./discover-addresses.ts";

const EXCLUDE_INTERFACES = "traffic.sidecar.istio.io/excludeInterfaces";

/** Who this proxy is. */
export interface ProxyRole {
  readonly type: ProxyType;
  /** The first one is the address in the node string. */
  readonly ipAddresses: readonly string[];
  readonly ipMode: IpMode;
  /** IPv6 only. */
  readonly isIpv6: boolean;
  /** IPv6 only or dual. */
  readonly supportsIpv6: boolean;
  readonly id: string;
  readonly dnsDomain: string;
  readonly serviceNode: string;
}

export interface RoleSources {
  /** Positional words of the command line; the first is the type. */
  readonly args: readonly string[];
  readonly flags: ProxyFlags;
  readonly env: EnvReader;
  readonly rules: GenerationRules;
  readonly annotations: ReadonlyMap<string, string>;
  readonly networkInterfaces: NetworkInterfaces;
  readonly log: Logger;
  readonly retry?: DiscoveryRetry;
  readonly signal?: AbortSignal;
}

const LOOPBACK = ["127.0.0.1", "::1"];

export async function readRole(sources: RoleSources): Promise<ProxyRole> {
  const type = parseProxyType(sources.args[0], sources.rules);
  const ipAddresses = await readAddresses(sources);
  const ipMode = ipModeOf(ipAddresses);
  const [ip = ""] = ipAddresses;
  const id = proxyId(sources, ip);
  const dnsDomain = proxyDomain(sources);
  sources.log.info("Proxy role", { ips: ipAddresses, type, id, domain: dnsDomain });
  return deepFreeze({
    type,
    ipAddresses,
    ipMode,
    isIpv6: ipMode === "ipv6",
    supportsIpv6: ipMode !== "ipv4",
    id,
    dnsDomain,
    serviceNode: formatServiceNode({ type, ip, id, dnsDomain }),
  });
}

async function readAddresses(sources: RoleSources): Promise<readonly string[]> {
  const { env, flags, rules } = sources;
  const given = rules.hasRegistryFlags && flags.ip !== "" ? flags.ip : env.string("INSTANCE_IP");
  const first = isIP(given) !== 0 ? [given] : [];
  const discovered = await discoverAddresses(sources.networkInterfaces, sources.retry, sources.signal);
  const others = discovered.filter((address) => address !== given);
  // A loopback address beside a real one would make the proxy look dual-stack, so it stands in only for nothing at all.
  if (first.length === 0 && others.length === 0) return LOOPBACK;
  if (!rules.excludesInterfaces) return [...first, ...others];
  const exclude = (addresses: readonly string[]) =>
    excludeInterfaces(addresses, sources.annotations.get(EXCLUDE_INTERFACES), sources.networkInterfaces, sources.log);
  return rules.exclusionMayRemoveInstanceIp ? exclude([...first, ...others]) : [...first, ...exclude(others)];
}

function proxyId({ env, flags, rules }: RoleSources, ip: string): string {
  const podId = `${env.string("POD_NAME")}.${env.string("POD_NAMESPACE")}`;
  if (!rules.hasRegistryFlags) return podId;
  if (flags.id !== "") return flags.id;
  if (flags.serviceregistry === "Kubernetes") return podId;
  return flags.serviceregistry === "Consul" ? `${ip}.service.consul` : ip;
}

function proxyDomain({ env, flags, rules }: RoleSources): string {
  if (flags.domain !== "") return flags.domain;
  if (rules.hasRegistryFlags && flags.serviceregistry === "Consul") return "service.consul";
  if (rules.hasRegistryFlags && flags.serviceregistry === "Mock") return "";
  return `${env.string("POD_NAMESPACE")}.svc.cluster.local`;
}

/** The node type of a command line; absent is a sidecar. */
function parseProxyType(word: string | undefined, rules: GenerationRules): ProxyType {
  const type = rules.proxyTypes.find((known) => known === (word ?? "sidecar"));
  if (type !== undefined) return type;
  const message = `${rules.proxyTypeError}${word}`;
  const allowed = rules.proxyTypes.join(", ");
  throw new ConfigError("invalid-proxy-type", message, [
    { source: "first argument of proxy", message, value: word ?? "", allowed },
  ]);
}

/** Removes the addresses of the interfaces the annotation lists. Blanks around the names do not matter. */
function excludeInterfaces(
  addresses: readonly string[],
  annotation: string | undefined,
  networkInterfaces: NetworkInterfaces,
  log: Logger,
): readonly string[] {
  if (annotation === undefined || annotation === "") return addresses;
  // Interfaces of secondary networks carry addresses that must not be announced to the mesh.
  const excluded = new Set<string>();
  for (const name of annotation.split(",").map((part) => part.trim())) {
    if (name === "") continue;
    const found = interfaceAddresses(networkInterfaces, name);
    if (found === undefined) log.warn(`Unable to get interface ${name}: route ip+net: no such network interface`);
    for (const address of found ?? []) excluded.add(address);
  }
  log.info(`Exclude IPs [${[...excluded].sort().join(" ")}] based on ${EXCLUDE_INTERFACES} annotation`);
  return addresses.filter((address) => !excluded.has(address));
}
