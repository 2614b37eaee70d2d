import { isLoopback } from "../../net/ip.ts";
import type { CidrRange } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type {
  FilterChain,
  FilterChainMatch,
  Listener,
  ListenerFilterChainMatchPredicate,
} from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { isInRange } from "../match/address.ts";
import type { Connection } from "./connection.ts";

/**
 * The chain that Envoy takes, in its order: destination port, address, server name, transport, application protocol, source. Each step
 * keeps the most specific ones and never comes back to those it dropped. Undefined: the connection is closed.
 */
export function chooseFilterChain(listener: Listener, connection: Connection): FilterChain | undefined {
  return matchingChains(listener, connection)[0] ?? listener.defaultFilterChain;
}

/** Those that match best. Envoy refuses a listener where several can. */
export function matchingChains(listener: Listener, connection: Connection): readonly FilterChain[] {
  const seen = inspect(listener, connection);
  const { address, port } = connection.destination;
  const steps: readonly ((chains: readonly FilterChain[]) => readonly FilterChain[])[] = [
    (chains) => exactly(chains, ({ destinationPort }) => destinationPort, port),
    (chains) => byRange(chains, ({ prefixRanges }) => prefixRanges, address),
    (chains) => byServerName(chains, seen.serverName),
    (chains) => exactly(chains, ({ transportProtocol }) => transportProtocol || undefined, seen.transport),
    (chains) => byApplicationProtocol(chains, seen.protocols),
    (chains) => byRange(chains, ({ directSourcePrefixRanges }) => directSourcePrefixRanges, connection.sourceAddress),
    (chains) => bySourceType(chains, connection),
    (chains) => byRange(chains, ({ sourcePrefixRanges }) => sourcePrefixRanges, connection.sourceAddress),
  ];
  return steps.reduce((chains, step) => step(chains), listener.filterChains ?? []);
}

/** What the listener's inspectors find out. Without them it is not known what a connection carries. */
export function inspect({ listenerFilters = [] }: Listener, { destination, speaks, tls }: Connection) {
  const isOn = (name: string) =>
    listenerFilters.some(
      (filter) => filter.name?.endsWith(name) === true && !isDisabled(filter.filterDisabled, destination.port),
    );
  if (tls !== undefined && isOn("tls_inspector")) {
    return { transport: "tls", protocols: tls.alpn, serverName: tls.serverName?.toLowerCase() };
  }
  const isHttp = tls === undefined && (speaks === "http1" || speaks === "http2") && isOn("http_inspector");
  const protocols = isHttp ? [speaks === "http2" ? "h2c" : "http/1.1"] : [];
  return { transport: "raw_buffer", protocols, serverName: undefined };
}

function isDisabled(predicate: ListenerFilterChainMatchPredicate | undefined, port: number): boolean {
  if (predicate === undefined) return false;
  if (predicate.anyMatch === true) return true;
  if (predicate.notMatch !== undefined) return !isDisabled(predicate.notMatch, port);
  if (predicate.orMatch !== undefined) return (predicate.orMatch.rules ?? []).some((rule) => isDisabled(rule, port));
  if (predicate.andMatch !== undefined) return (predicate.andMatch.rules ?? []).every((rule) => isDisabled(rule, port));
  const { start = 0, end = 0 } = predicate.destinationPortRange ?? {};
  return port >= start && port < end;
}

function matchOf({ filterChainMatch = {} }: FilterChain): FilterChainMatch {
  return filterChainMatch;
}

/** Those that ask for the value if there are any, else those that do not ask. */
function exactly<Value>(
  chains: readonly FilterChain[],
  asked: (match: FilterChainMatch) => Value | undefined,
  value: Value,
): readonly FilterChain[] {
  const exact = chains.filter((chain) => asked(matchOf(chain)) === value);
  return exact.length > 0 ? exact : chains.filter((chain) => asked(matchOf(chain)) === undefined);
}

/** Those with the narrowest range that has the address. */
function byRange(
  chains: readonly FilterChain[],
  asked: (match: FilterChainMatch) => readonly CidrRange[] | undefined,
  address: string | undefined,
): readonly FilterChain[] {
  const lengths = chains.map((chain) => {
    const ranges = asked(matchOf(chain)) ?? [];
    if (ranges.length === 0) return -1;
    const holding = ranges.filter((range) => isInRange(range, address));
    return holding.length === 0 ? undefined : Math.max(...holding.map(({ prefixLen = 0 }) => prefixLen));
  });
  const narrowest = lengths.reduce<number>((most, length) => Math.max(most, length ?? -1), -1);
  return chains.filter((_, index) => lengths[index] === narrowest);
}

/** The whole name, then wildcards from the longest to the shortest, then those that do not ask. */
function byServerName(chains: readonly FilterChain[], name: string | undefined): readonly FilterChain[] {
  for (const candidate of name === undefined ? [] : [name, ...wildcards(name)]) {
    const named = chains.filter((chain) => matchOf(chain).serverNames?.includes(candidate));
    if (named.length > 0) return named;
  }
  return chains.filter((chain) => (matchOf(chain).serverNames ?? []).length === 0);
}

function wildcards(name: string): readonly string[] {
  const labels = name.split(".");
  return labels.slice(1).map((_, at) => `*.${labels.slice(at + 1).join(".")}`);
}

/** In the order in which the client offers them. */
function byApplicationProtocol(chains: readonly FilterChain[], protocols: readonly string[]): readonly FilterChain[] {
  for (const protocol of protocols) {
    const named = chains.filter((chain) => matchOf(chain).applicationProtocols?.includes(protocol));
    if (named.length > 0) return named;
  }
  return chains.filter((chain) => (matchOf(chain).applicationProtocols ?? []).length === 0);
}

function bySourceType(chains: readonly FilterChain[], connection: Connection): readonly FilterChain[] {
  const { sourceAddress, destination } = connection;
  const isLocal = sourceAddress !== undefined && (sourceAddress === destination.address || isLoopback(sourceAddress));
  return exactly(
    chains,
    ({ sourceType }) => (sourceType === "ANY" ? undefined : sourceType),
    isLocal ? "SAME_IP_OR_LOOPBACK" : "EXTERNAL",
  );
}
