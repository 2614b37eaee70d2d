import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import type { ClientTls, Connect, KeepaliveOptions } from "../grpc/index.ts";
import type { XdsProxyMetrics } from "./metrics.ts";

/** A type of resource that the agent consumes itself. */
export interface InternalHandler {
  readonly typeUrl: string;
  /** The bytes of the first resource, valid during the call only. What it throws is sent back as a NACK. */
  handle(resource: Buffer): void;
}

/** Where configuration comes from. */
export interface UpstreamOptions {
  /** host:port. */
  readonly address: string;
  /** Absent: plaintext. */
  readonly tls?: ClientTls;
  /** `:authority`, when it is not the address. */
  readonly authority?: string;
  /** Asked for each stream; undefined or "" sends none. What it throws fails the stream with UNAUTHENTICATED. */
  readonly token?: () => string | undefined | Promise<string | undefined>;
  /** Sent with each stream; names are lower-cased on the wire. */
  readonly headers: Readonly<Record<string, string>>;
  readonly keepalive: KeepaliveOptions;
  /** For one connect attempt, from the name's resolution to the peer's HTTP/2 settings. */
  readonly connectTimeoutMs: number;
  readonly connect?: Connect;
}

export interface XdsProxyOptions {
  /** Directories above it are made. */
  readonly socketPath: string;
  readonly upstream: UpstreamOptions;
  readonly handlers: readonly InternalHandler[];
  /** Per request of a client; responses have no limit. */
  readonly maxReceiveBytes: number;
  readonly maxStreams: number;
  readonly downstreamKeepalive: KeepaliveOptions;
  /** For the first log line. */
  readonly clusterId: string;
  readonly metrics: XdsProxyMetrics;
  readonly log: Logger;
}

/** What the workload's own health check found. */
export type WorkloadHealth = { readonly healthy: true } | { readonly healthy: false; readonly message: string };

export interface XdsProxy extends Handle {
  readonly socketPath: string;
  /** Kept, and sent on the primary stream now and after every reconnect. */
  reportHealth(health: WorkloadHealth): void;
  /** For the debug pages: one row per stream. */
  describeStreams(): readonly StreamDescription[];
}

export interface StreamDescription {
  readonly id: number;
  readonly kind: "sotw" | "delta";
  readonly nodeId: string;
  readonly primary: boolean;
  readonly requests: number;
  readonly responses: number;
  /** Milliseconds since the epoch; undefined before the first response. */
  readonly lastResponseAt: number | undefined;
}
