import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import type { ClientTls, KeepaliveOptions } from "../grpc/index.ts";
import type { Dial } from "../net/dial.ts";
import type { ReservedSocket } from "../net/listen/listen.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import type { LastGood } from "./last-good/start-last-good.ts";
import type { XdsProxyMetrics } from "./metrics.ts";

/** A type of resource that the agent consumes itself. */
export interface InternalHandler {
  readonly typeUrl: string;
  /** What it is called in log lines. */
  readonly name?: string;
  /** The bytes of the first resource, valid during the call only. What it throws is sent back as a NACK. */
  handle(resource: Buffer): void;
}

/** Rewrites the responses of one type before the client sees them. Conversions of a type are sent in the order of their arrival. */
export interface ResponseConverter {
  readonly typeUrl: string;
  /** The bytes are the converter's to keep. A refusal is sent upstream as a NACK, and the client does not see the response. */
  convert(
    response: ConvertibleResponse,
    signal: AbortSignal,
  ): Promise<{ readonly message: Buffer } | { readonly refusal: string }>;
}

export interface ConvertibleResponse {
  readonly kind: XdsProtocol;
  readonly message: Buffer;
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
  /** Whether responses may come compressed; clients get them plain. */
  readonly compression?: boolean;
  readonly connect?: Dial;
}

export interface XdsProxyOptions {
  /** Directories above it are made. */
  readonly socketPath: string;
  /** The socket, when it was bound beforehand. */
  readonly reserved?: ReservedSocket | undefined;
  readonly upstream: UpstreamOptions;
  readonly handlers: readonly InternalHandler[];
  readonly converters?: readonly ResponseConverter[];
  /** Absent: without a control plane clients get nothing. */
  readonly lastGood?: LastGood;
  /** Per request of a client; responses have no limit. */
  readonly maxReceiveBytes: number;
  readonly maxStreams: number;
  readonly downstreamKeepalive: KeepaliveOptions;
  /** How long a control plane may leave a response unfinished or requests unread; half a minute when absent. */
  readonly progressLimitMs?: number;
  /** How often the socket's file is looked for; see `serveSocket`. */
  readonly socketCheckMs?: number;
  /** For the first log line. */
  readonly clusterId: string;
  readonly metrics: XdsProxyMetrics;
  readonly log: Logger;
}

/** What the workload's own health check found. */
export type WorkloadHealth = { readonly healthy: true } | { readonly healthy: false; readonly message: string };

export interface XdsProxy extends Handle {
  readonly socketPath: string;
  /** A client is about to come: connects to the control plane meanwhile. */
  prepare(): void;
  /** Ends every stream to the control plane, each as if the control plane had: clients come back on new connections. */
  reset(): void;
  /** Stored, and sent on the primary stream now and after every reconnect. */
  reportHealth(health: WorkloadHealth): void;
  /** For the debug pages: one row per stream. */
  describeStreams(): readonly StreamDescription[];
  /** The encoded node of a client that is connected, the primary's if there is one. */
  connectedNode(): Buffer | undefined;
  /** For the readiness page, when clients are served without a control plane. */
  notice(): string | undefined;
}

/** Messages of one stream so far. */
export interface StreamCounts {
  requests: number;
  responses: number;
  /** Milliseconds since the epoch; undefined before the first response. */
  lastResponseAt: number | undefined;
}

export interface StreamDescription extends Readonly<StreamCounts> {
  readonly id: number;
  readonly kind: XdsProtocol;
  readonly nodeId: string;
  readonly primary: boolean;
  /** Where its configuration comes from. */
  readonly source: "control-plane" | "last-known-good";
}
