import { BlockList, isIPv6 } from "node:net";
import type {
  FilterChain,
  FilterChainMatch,
  Listener,
  ListenerFilterChainMatchPredicate,
} from "../../../src/protobuf/gen/envoy/config/listener/v3.ts";

/** A connection as a listener meets it. */
export interface Connection {
  readonly address?: string;
  readonly port: number;
  /** What the client's first bytes are. Silence: the server is to speak first. */
  readonly speaks: "tcp" | "http" | "tls" | "nothing";
  readonly alpn?: readonly string[];
  readonly sni?: string;
}

/** The chain that Envoy takes by its documented order: port, address, server name, transport, application protocol, default. */
export function chooseFilterChain(listener: Listener, connection: Connection): FilterChain | undefined {
  const seen = inspect(listener, connection);
  const stages: readonly ((chains: readonly FilterChain[]) => readonly FilterChain[])[] = [
    (chains) => prefer(chains, ({ destinationPort }) => destinationPort, connection.port),
    (chains) => byAddress(chains, connection.address ?? "192.0.2.1"),
    (chains) => byServerName(chains, seen.sni),
    (chains) => prefer(chains, ({ transportProtocol }) => transportProtocol, seen.transport),
    (chains) => byApplication(chains, seen.alpn),
  ];
  const left = stages.reduce((chains, stage) => stage(chains), listener.filterChains ?? []);
  if (left.length > 1) throw new Error(`${left.length} chains match alike`);
  return left[0] ?? listener.defaultFilterChain;
}

function inspect({ listenerFilters = [] }: Listener, { port, speaks, alpn = [], sni }: Connection) {
  const isOn = (name: string) =>
    listenerFilters.some((filter) => filter.name?.endsWith(name) && !isDisabled(filter.filterDisabled, port));
  if (speaks === "tls" && isOn("tls_inspector")) return { transport: "tls", alpn, sni };
  const isHttp = speaks === "http" && isOn("http_inspector");
  return { transport: "raw_buffer", alpn: isHttp ? ["http/1.1"] : [], sni: undefined };
}

function isDisabled(predicate: ListenerFilterChainMatchPredicate | undefined, port: number): boolean {
  if (predicate === undefined) return false;
  if (predicate.notMatch !== undefined) return !isDisabled(predicate.notMatch, port);
  if (predicate.orMatch !== undefined) return (predicate.orMatch.rules ?? []).some((rule) => isDisabled(rule, port));
  const { start = 0, end = 0 } = predicate.destinationPortRange ?? {};
  return port >= start && port < end;
}

const matchOf = ({ filterChainMatch = {} }: FilterChain): FilterChainMatch => filterChainMatch;

/** Those that ask for the value if there are any, else those that do not ask. */
function prefer<Value>(
  chains: readonly FilterChain[],
  asked: (match: FilterChainMatch) => Value | undefined,
  value: Value,
): readonly FilterChain[] {
  const exact = chains.filter((chain) => asked(matchOf(chain)) === value);
  return exact.length > 0 ? exact : chains.filter((chain) => asked(matchOf(chain)) === undefined);
}

function byAddress(chains: readonly FilterChain[], address: string): readonly FilterChain[] {
  const lengths = chains.map((chain) => {
    const holding = (matchOf(chain).prefixRanges ?? []).filter(({ addressPrefix = "", prefixLen = 0 }) => {
      const range = new BlockList();
      range.addSubnet(addressPrefix, prefixLen, isIPv6(addressPrefix) ? "ipv6" : "ipv4");
      return range.check(address, isIPv6(address) ? "ipv6" : "ipv4");
    });
    if (matchOf(chain).prefixRanges === undefined) return -1;
    return holding.length === 0 ? undefined : Math.max(...holding.map(({ prefixLen = 0 }) => prefixLen));
  });
  const longest = Math.max(...lengths.map((length) => length ?? -1), -1);
  return chains.filter((_, index) => lengths[index] === longest);
}

function byServerName(chains: readonly FilterChain[], sni: string | undefined): readonly FilterChain[] {
  const labels = (sni ?? "").split(".");
  const candidates =
    sni === undefined ? [] : [sni, ...labels.slice(1).map((_, at) => `*.${labels.slice(at + 1).join(".")}`)];
  for (const name of candidates) {
    const named = chains.filter((chain) => matchOf(chain).serverNames?.includes(name));
    if (named.length > 0) return named;
  }
  return chains.filter((chain) => matchOf(chain).serverNames === undefined);
}

function byApplication(chains: readonly FilterChain[], alpn: readonly string[]): readonly FilterChain[] {
  for (const protocol of alpn) {
    const named = chains.filter((chain) => matchOf(chain).applicationProtocols?.includes(protocol));
    if (named.length > 0) return named;
  }
  return chains.filter((chain) => matchOf(chain).applicationProtocols === undefined);
}

/** What becomes of the connection, in few words: `no chain`, `http inbound|80||`, `mtls tcp inbound|90||`. */
export function describeChain(chain: FilterChain | undefined): string {
  if (chain === undefined) return "no chain";
  const last = chain.filters?.at(-1)?.typedConfig as TypedConfig | undefined;
  const route = last?.rds?.routeConfigName ?? last?.routeConfig?.name;
  const weighted = last?.weightedClusters?.clusters.map(({ name, weight }) => `${name}=${weight}`).join(" ");
  const target = route === undefined ? `tcp ${weighted ?? last?.cluster}` : `http ${route}`;
  return chain.transportSocket === undefined ? target : `mtls ${target}`;
}

interface TypedConfig {
  readonly cluster?: string;
  readonly weightedClusters?: { readonly clusters: readonly { readonly name: string; readonly weight: number }[] };
  readonly rds?: { readonly routeConfigName: string };
  readonly routeConfig?: { readonly name: string };
}
