import type { ConnectionOptions } from "node:tls";
import type { Dial } from "../../net/dial.ts";
import type { KeepaliveOptions } from "../../net/http2/keepalive.ts";
import type { Encoding } from "../compression.ts";
import type { FrameStream } from "../frame-scanner.ts";
import type { Metadata, MetadataInit } from "../metadata.ts";
import type { Method } from "../method.ts";

/** What one handshake uses. Without `ca`, the public roots. */
export type ClientCredentials = Pick<
  ConnectionOptions,
  | "ca"
  | "cert"
  | "key"
  | "crl"
  | "ciphers"
  | "minVersion"
  | "maxVersion"
  | "secureContext"
  | "checkServerIdentity"
  | "rejectUnauthorized"
> & {
  /** Name to ask for and to verify; the target's host by default. */
  readonly serverName?: string;
};

/** Asked for every handshake, so that rotated roots and certificates are used from the next connection on. */
export type ClientTls = () => ClientCredentials | Promise<ClientCredentials>;

/** Adds metadata to each call, for example a token. What it throws fails the call, with UNAUTHENTICATED unless it is a GrpcError. */
export type CallCredentials = (call: {
  readonly path: string;
  readonly authority: string;
}) => MetadataInit | Promise<MetadataInit>;

export interface GrpcChannelOptions {
  /** Absent: plaintext. */
  readonly tls?: ClientTls;
  /** The `:authority` of requests; the target by default, "localhost" for a unix socket. */
  readonly authority?: string;
  /** Instead of a direct connection to the target. The signal aborts when the connect timeout has passed or the channel stops. */
  readonly connect?: Dial;
  /** From the first packet to the peer's HTTP/2 settings. */
  readonly connectTimeoutMs?: number;
  readonly credentials?: CallCredentials;
  /** Pings are sent only while a call is open. */
  readonly keepalive?: KeepaliveOptions;
  readonly maxReceiveBytes?: number;
  readonly maxSendBytes?: number;
  readonly maxHeaderBytes?: number;
  readonly windowBytes?: number;
  readonly userAgent?: string;
}

export interface CallOptions {
  readonly metadata?: MetadataInit;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
  /** Deadline of the whole call, the connecting included; sent along as grpc-timeout. */
  readonly timeoutMs?: number;
  readonly credentials?: CallCredentials;
  readonly onHeaders?: (headers: Metadata) => void;
  /** Called once, with any status. */
  readonly onTrailers?: (trailers: Metadata) => void;
}

/** The requests of a streaming call. */
export interface RequestWriter<Request> {
  /** Resolves when there is room for the next message; rejects with the call's GrpcError when it is over. */
  write(message: Request): Promise<void>;
  /** Half-close: no more requests will follow. */
  end(): void;
  /** Resets the call; its reader gets CANCELLED. Without effect when it is over. */
  cancel(reason?: string): void;
}

/** Responses are read by iterating: the iteration ends with status OK and throws a GrpcError otherwise. Leaving it early cancels. */
export type ResponseReader<Response> = AsyncIterableIterator<Response>;

export interface ClientStreamCall<Request, Response> extends RequestWriter<Request> {
  /** Half-closes and waits for the answer. */
  finish(): Promise<Response>;
  /** Waits for an answer that the server may give before the half-close. Either this or `finish`, once. */
  response(): Promise<Response>;
}

export interface ServerStreamCall<Response> extends ResponseReader<Response> {
  cancel(reason?: string): void;
}

export interface BidiCall<Request, Response> extends RequestWriter<Request> {
  readonly responses: ResponseReader<Response>;
}

export interface RawClientCall extends FrameStream {
  /** What compressed frames are compressed with, once the answer has begun; undefined when it is something unknown. */
  readonly encoding: Encoding | undefined;
  end(): void;
  /** After `end`: resolves when all that was written has left, or the call is over. */
  sent(): Promise<void>;
  cancel(reason?: string): void;
}

/**
 * Calls to one target over one connection, made when first needed and again after it was lost. Every call rejects with a GrpcError
 * (with a MetadataError when the caller's own metadata cannot be sent); streaming calls resolve when their stream is open, which fails with UNAVAILABLE when no connection can be made.
 */
export interface GrpcChannel extends AsyncDisposable {
  readonly target: string;
  unary<Request, Response>(
    method: Method<"unary", Request, Response>,
    request: Request,
    options?: CallOptions,
  ): Promise<Response>;
  clientStream<Request, Response>(
    method: Method<"client-stream", Request, Response>,
    options?: CallOptions,
  ): Promise<ClientStreamCall<Request, Response>>;
  serverStream<Request, Response>(
    method: Method<"server-stream", Request, Response>,
    request: Request,
    options?: CallOptions,
  ): Promise<ServerStreamCall<Response>>;
  bidi<Request, Response>(
    method: Method<"bidi", Request, Response>,
    options?: CallOptions,
  ): Promise<BidiCall<Request, Response>>;
  /** Any method, as frames in pieces. A caller that takes gzip has to unpack it, see `inflateFrames`. */
  raw(path: string, options?: CallOptions & { readonly takesGzip?: boolean }): Promise<RawClientCall>;
  /** Connects now and resolves when the peer has spoken HTTP/2. */
  connect(signal?: AbortSignal): Promise<void>;
  /** How much the peer may send ahead, instead of `windowBytes`: for calls that run, too. */
  resizeWindow(bytes: number): void;
  /** Idempotent. Ends every call with CANCELLED and closes the connection. */
  stop(): Promise<void>;
}
