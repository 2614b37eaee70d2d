import type { FrameStream } from "../frame-scanner.ts";
import type { Metadata, MetadataInit } from "../metadata.ts";
import type { CallKind, Method } from "../method.ts";
import type { Peer } from "./peer.ts";

/** What every handler sees of its call. */
export interface ServerCall {
  readonly path: string;
  readonly peer: Peer;
  /** `:authority` of the request. */
  readonly authority: string;
  /** The request's headers, decoded when first asked for. */
  readonly metadata: Metadata;
  /** Sent with the status; the handler may add to it until it returns. */
  readonly trailers: Metadata;
  /** Time of expiry in the clock of `Date.now`; undefined when the client set none. */
  readonly deadline: number | undefined;
  /** Aborts with a GrpcError as its reason: cancelled by the client, deadline exceeded, connection lost or server stopped. */
  readonly signal: AbortSignal;
  /** Sends the answer's headers now instead of with the first message. */
  sendHeaders(metadata?: MetadataInit): void;
}

export interface ServerWriter<Response> extends ServerCall {
  /**
   * Asked before a request message is received, with the most bytes it may have; while the promise is pending the client is held back. To be set before
   * the handler first waits. Rejecting ends the call with that failure.
   */
  beforeMessage?: ((length: number) => Promise<void> | undefined) | undefined;
  /** Resolves when there is room for the next message; rejects with the call's GrpcError when it is over. */
  write(message: Response): Promise<void>;
  /** Whether messages may be compressed with gzip, which the headers then say: to be asked before anything is sent. */
  offerGzip(): boolean;
  /**
   * One message from chunks that are encoded already. Chunks are not copied and must not change afterwards. A promise says that the
   * client is behind and settles as `write` does; throws when the call is over. `compressed`: the chunks are gzip (`gzipPieces`).
   */
  writeChunks(chunks: readonly Uint8Array[], compressed?: boolean): Promise<void> | undefined;
}

export type RawServerCall = ServerCall & FrameStream;

/** By kind of call. The call ends with OK when the handler's promise resolves, with the status of a thrown GrpcError otherwise. */
export interface Handlers<Request, Response> {
  readonly unary: (request: Request, call: ServerCall) => Response | Promise<Response>;
  readonly "client-stream": (requests: AsyncIterable<Request>, call: ServerCall) => Promise<Response>;
  readonly "server-stream": (request: Request, call: ServerWriter<Response>) => Promise<void>;
  readonly bidi: (requests: AsyncIterable<Request>, call: ServerWriter<Response>) => Promise<void>;
}

export type RawHandler = (call: RawServerCall) => Promise<void>;

/** A method with its handler; the message types are settled inside. */
export type Implementation =
  | { readonly kind: "raw"; readonly path: string; readonly handler: RawHandler }
  | TypedImplementation<"unary">
  | TypedImplementation<"client-stream">
  | TypedImplementation<"server-stream">
  | TypedImplementation<"bidi">;

export interface TypedImplementation<Kind extends CallKind> {
  readonly kind: Kind;
  readonly path: string;
  readonly method: Method<Kind, unknown, unknown>;
  readonly handler: Handlers<unknown, unknown>[Kind];
}

export function implement<Kind extends CallKind, Request, Response>(
  method: Method<Kind, Request, Response>,
  handler: Handlers<Request, Response>[Kind],
): Implementation {
  // Codecs and handler agree by this signature; the table of methods needs not know the types any more.
  return { kind: method.kind, path: method.path, method, handler } as Implementation;
}

/** A method whose frames are moved in pieces, of any kind. */
export function implementRaw(path: string, handler: RawHandler): Implementation {
  return { kind: "raw", path, handler };
}
