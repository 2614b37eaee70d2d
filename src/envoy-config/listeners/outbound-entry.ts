import type { Protocol } from "../../istio-api/values/protocol.ts";
import type { CidrRange } from "../../protobuf/gen/envoy/config/core/v3.ts";
import { listenerName } from "./addresses.ts";
import type { ListenerConflict } from "./listener-conflict.ts";
import type { TcpChain } from "./tcp-chains.ts";

/** A listener in the making. Services on one address and port share it. */
export interface OutboundEntry {
  readonly binds: readonly string[];
  readonly port: number;
  readonly isBound: boolean;
  /** The port's protocol as the first service has it. */
  readonly protocol: Protocol;
  http?: HttpPart;
  readonly tcp: TcpChain[];
  /** What each of the TCP chains is chosen for. */
  readonly claimed: Map<string, TcpChain>;
  /** A Sidecar object says what is on this port: nothing is added any more. */
  isLocked: boolean;
}

export interface HttpPart {
  readonly routeName: string;
  readonly grpcWeb: boolean;
  /** Some service there has hosts that are looked up as they are called. */
  readonly looksUpHosts: boolean;
  /** An explicit proxy for its clients: nothing but HTTP comes. */
  readonly isProxy: boolean;
}

/** One service port as it wants to be in a listener. */
export interface PortEntry {
  readonly binds: readonly string[];
  readonly port: number;
  readonly isBound: boolean;
  readonly protocol: Protocol;
  readonly owner: string;
  readonly http?: HttpPart;
  readonly tcp: readonly TcpChain[];
}

interface OutboundEntries {
  add(added: PortEntry): void;
  /** What is there now stays as it is. */
  lock(): void;
  readonly all: Iterable<OutboundEntry>;
}

/** The server speaks first in these, so that nothing may wait for the client's first bytes. */
const SERVER_FIRST: ReadonlySet<Protocol> = new Set(["Mongo", "MySQL"]);

export function createOutboundEntries(report: (conflict: ListenerConflict) => void): OutboundEntries {
  const entries = new Map<string, OutboundEntry>();
  return {
    add(added) {
      const key = listenerName(added.binds[0] ?? "", added.port);
      const entry = entries.get(key);
      if (entry === undefined) entries.set(key, createEntry(added, report));
      else if (!entry.isLocked) merge(entry, added, report);
    },
    lock() {
      for (const entry of entries.values()) entry.isLocked = true;
    },
    get all() {
      return entries.values();
    },
  };
}

function createEntry(
  { owner: _owner, ...added }: PortEntry,
  report: (conflict: ListenerConflict) => void,
): OutboundEntry {
  const entry: OutboundEntry = { ...added, tcp: [], claimed: new Map(), isLocked: false };
  for (const chain of added.tcp) addChain(entry, chain, report);
  return entry;
}

/** HTTP and TCP on one port are distinguished by sniffing; several HTTP services by their names. */
function merge(entry: OutboundEntry, added: PortEntry, report: (conflict: ListenerConflict) => void): void {
  const mixes =
    entry.protocol !== added.protocol && (SERVER_FIRST.has(entry.protocol) || SERVER_FIRST.has(added.protocol));
  if (mixes) {
    const winner = entry.tcp[0]?.owners[0] ?? "";
    report({ kind: "server-first", listener: listenerNameOf(entry), winner, dropped: added.owner });
    return;
  }
  // What is not HTTP on a port that carries HTTP for all addresses need not be meant for a service without address.
  const isSniffedAlready = entry.http !== undefined && added.http !== undefined && !entry.isBound;
  if (added.http !== undefined) entry.http = mergeHttp(entry, added.http);
  if (!isSniffedAlready) for (const chain of added.tcp) addChain(entry, chain, report);
}

/**
 * Routes of a single service are its own; those of several are found by the port. Where the service's own address was called, the first
 * one has it.
 */
function mergeHttp({ http, port, binds, isBound }: OutboundEntry, wanted: HttpPart): HttpPart {
  if (http === undefined) return wanted;
  const shared = port === 0 ? (binds[0] ?? "") : String(port);
  return {
    routeName: http.routeName === wanted.routeName || !isBound ? http.routeName : shared,
    grpcWeb: http.grpcWeb || wanted.grpcWeb,
    looksUpHosts: http.looksUpHosts || wanted.looksUpHosts,
    isProxy: http.isProxy || wanted.isProxy,
  };
}

/** Envoy refuses chains that some connection could not choose between: what is taken already is taken off the later one. */
function addChain(entry: OutboundEntry, chain: TcpChain, report: (conflict: ListenerConflict) => void): void {
  const clash = claims(chain).find((claim) => entry.claimed.has(claim));
  const known = clash === undefined ? undefined : entry.claimed.get(clash);
  if (known === undefined) {
    put(entry, chain);
    return;
  }
  if (known.serverName !== undefined && chain.serverName !== undefined && known.serverName !== chain.serverName) {
    remove(entry, known);
    addChain(entry, byServerName(known, known.serverName), report);
    addChain(entry, byServerName(chain, chain.serverName), report);
    return;
  }
  // Of the rules for one service, and of one rule for several, the first chain is meant: no conflict.
  if (!known.owners.some((owner) => chain.owners.includes(owner))) {
    const [winner = ""] = known.owners;
    report({ kind: "outbound-tcp", listener: listenerNameOf(entry), winner, dropped: chain.owners[0] ?? "" });
  }
  const rest = narrowed(chain, entry.claimed);
  if (rest !== undefined) put(entry, rest);
}

function put(entry: OutboundEntry, chain: TcpChain): void {
  entry.tcp.push(chain);
  for (const claim of claims(chain)) entry.claimed.set(claim, chain);
}

function remove(entry: OutboundEntry, chain: TcpChain): void {
  entry.tcp.splice(entry.tcp.indexOf(chain), 1);
  for (const claim of claims(chain)) entry.claimed.delete(claim);
}

function byServerName({ serverName: _name, ...chain }: TcpChain, serverName: string): TcpChain {
  return { ...chain, match: { ...chain.match, serverNames: [serverName.toLowerCase()] } };
}

/** Every pair of address range and server name that the chain is chosen for. */
function claims({ match: { prefixRanges = [], serverNames = [] } }: TcpChain): readonly string[] {
  const names = serverNames.length > 0 ? serverNames : [""];
  const ranges = prefixRanges.length > 0 ? prefixRanges.map(rangeText) : [""];
  return ranges.flatMap((range) => names.map((name) => `${range} ${name}`));
}

function narrowed(chain: TcpChain, taken: ReadonlyMap<string, TcpChain>): TcpChain | undefined {
  const { prefixRanges = [], serverNames = [] } = chain.match;
  const isFree = (match: TcpChain["match"]) => claims({ ...chain, match }).every((claim) => !taken.has(claim));
  const names = serverNames.filter((name) => isFree({ ...chain.match, serverNames: [name] }));
  if (names.length > 0) return { ...chain, match: { ...chain.match, serverNames: names } };
  if (serverNames.length > 0) return undefined;
  const ranges = prefixRanges.filter((range) => isFree({ ...chain.match, prefixRanges: [range] }));
  return ranges.length > 0 ? { ...chain, match: { ...chain.match, prefixRanges: ranges } } : undefined;
}

function rangeText({ addressPrefix = "", prefixLen = 0 }: CidrRange): string {
  return `${addressPrefix}/${prefixLen}`;
}

function listenerNameOf({ binds, port }: OutboundEntry): string {
  return listenerName(binds[0] ?? "", port);
}
