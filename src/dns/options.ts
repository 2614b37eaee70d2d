import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import type { HostPort } from "../net/host-port.ts";
import type { NameTable } from "../xds/name-table.ts";
import type { TlsRelayOptions } from "./compat/tls-relay.ts";
import type { DnsRules } from "./core/generations.ts";
import type { Random16 } from "./core/shuffle.ts";
import type { DnsMetrics } from "./metrics.ts";

export type Transport = "udp" | "tcp";

export interface DnsServerOptions {
  /** `host:port`; "localhost" listens on the loopback addresses of the nameservers' families; empty is localhost:15053. */
  readonly listen: string;
  readonly proxyNamespace: string;
  /** The proxy's DNS domain, e.g. "ns1.svc.cluster.local". */
  readonly proxyDomain: string;
  /** Allows port 53, and takes the machine's real servers from `rootResolvConfPath` there. */
  readonly asRoot?: boolean;
  readonly resolvConfPath?: string;
  readonly rootResolvConfPath?: string;
  readonly forwardMode?: "sequential" | "parallel";
  /** For a whole forwarded query, however many servers there are; 0 is two seconds. */
  readonly forwardTimeoutMs?: number;
  /** Those of the newest generation when absent. */
  readonly rules?: DnsRules;
  /** Ask upstream about other types than addresses of known names, as other agents do. */
  readonly forwardsOtherTypes?: boolean;
  /** Ask upstream while no name table has come, instead of failing. Always on for port 53. */
  readonly forwardsBeforeSync?: boolean;
  /** Names of the mesh are asked at the control plane, over TLS. Only with one thread. */
  readonly relay?: TlsRelayOptions;
  readonly ttlSeconds?: number;
  readonly limits?: Partial<DnsLimits>;
  /** Threads that answer UDP, 1 to {@link MAX_THREADS}. More than one needs a platform where sockets can share a port. */
  readonly threads?: number;
  /** The bundled program of the other threads; the default finds it in the built package. */
  readonly workerUrl?: URL;
  /** Port of the nameservers; tests have no port 53. */
  readonly upstreamPort?: number;
  /** Decides the order of answers; tests count. */
  readonly random16?: Random16;
  readonly log: Logger;
  readonly metrics: DnsMetrics;
  /** Aborting while starting makes the start fail. */
  readonly signal?: AbortSignal;
}

export interface DnsLimits {
  /** Distinct questions waiting for upstream; more are refused with SERVFAIL at once. */
  readonly maxForwards: number;
  /** Queries that share a source port before the port is given up. */
  readonly queriesPerSocket: number;
  readonly maxTcpConnections: number;
  readonly maxTcpQueries: number;
  /** Queries of one TCP connection that are answered at the same time. */
  readonly maxTcpPipelined: number;
  readonly tcpFirstMs: number;
  readonly tcpIdleMs: number;
  /** How often resolv.conf is read without an event of the file system. */
  readonly resolvConfRescanMs: number;
  /** How often a wildcard address looks for addresses that appeared or went. */
  readonly addressPollMs: number;
}

export const MAX_THREADS = 64;

export const DEFAULT_LIMITS: DnsLimits = {
  maxForwards: 10_000,
  queriesPerSocket: 64,
  maxTcpConnections: 1_024,
  maxTcpQueries: 128,
  maxTcpPipelined: 16,
  tcpFirstMs: 2_000,
  tcpIdleMs: 8_000,
  resolvConfRescanMs: 5_000,
  addressPollMs: 2_000,
};

export interface DnsServer extends Handle {
  /** Bound addresses, each with UDP and TCP. */
  readonly addresses: readonly HostPort[];
  /** Replaces the whole table from one query to the next; a large one takes some turns of the event loop to come into force. */
  updateNameTable(table: NameTable): void;
  /** Undefined once the first table has come. */
  notReadyReason(): string | undefined;
  /** The body of `/debug/ndsz`; undefined while there is no table. */
  describe(): string | undefined;
}
