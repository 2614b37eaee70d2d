import { errorMessage } from "../base/coded-error.ts";
import { createGrpcChannel, type GrpcChannel, GrpcError, type RawClientCall } from "../grpc/index.ts";
import type { UpstreamOptions } from "./options.ts";

export interface Upstream {
  readonly call: RawClientCall;
  /** There are so many streams now, this one included. */
  shareMemory(streams: number): void;
  /** Resets the call and closes its connection. */
  close(): Promise<void>;
}

/** As large as gRPC allows. */
export const MAX_RESPONSE_BYTES = 2 ** 31 - 1;
/** What the control plane may send ahead. With many clients each gets less: what waits for slow ones is memory (bench/xds-forward). */
const WINDOW_BYTES = 1024 * 1024;
const CROWDED_WINDOW_BYTES = 64 * 1024;
/** From so many streams on, memory stays small at the price of the processor's time. */
export const CROWDED_STREAMS = 3;

export interface OpenOptions {
  readonly signal: AbortSignal;
  /** How many there are, this one included. */
  readonly streams?: number;
  /** Invites the control plane to compress; the reader has to unpack. */
  readonly takesGzip?: boolean | undefined;
  /** Made before, by `createUpstreamChannel`; the stream owns it from now on. */
  readonly channel?: GrpcChannel | undefined;
}

/**
 * One connection per stream, never shared: a client that reconnects may land on another instance of the control plane, and what was
 * on its way to one must not reach the other. Rejects with the GrpcError of the first failed attempt; the client's own backoff retries.
 */
export async function openUpstream(options: UpstreamOptions, path: string, open: OpenOptions): Promise<Upstream> {
  const channel = open.channel ?? createUpstreamChannel(options, open.streams);
  try {
    const call = await channel.raw(path, {
      metadata: lowerCased(options.headers),
      signal: open.signal,
      takesGzip: open.takesGzip ?? false,
    });
    const shareMemory = (streams: number) => channel.resizeWindow(windowFor(streams));
    return { call, shareMemory, close: () => channel.stop() };
  } catch (failure) {
    await channel.stop();
    throw failure;
  }
}

/** Makes no connection yet. */
export function createUpstreamChannel(options: UpstreamOptions, streams = 1): GrpcChannel {
  return createGrpcChannel(options.address, {
    ...(options.tls && { tls: options.tls }),
    ...(options.authority !== undefined && { authority: options.authority }),
    ...(options.connect && { connect: options.connect }),
    connectTimeoutMs: options.connectTimeoutMs,
    keepalive: options.keepalive,
    maxReceiveBytes: MAX_RESPONSE_BYTES,
    windowBytes: windowFor(streams),
    credentials: async () => {
      const token = await askToken(options);
      return token ? { authorization: `Bearer ${token}` } : {};
    },
  });
}

function windowFor(streams: number): number {
  return streams < CROWDED_STREAMS ? WINDOW_BYTES : CROWDED_WINDOW_BYTES;
}

/** The token that the call should carry could not be had: no control plane has refused anything. */
export class TokenError extends GrpcError {}

async function askToken(options: UpstreamOptions): Promise<string | undefined> {
  try {
    return await options.token?.();
  } catch (cause) {
    const text = `transport: per-RPC creds failed due to error: fetch platform credential: ${errorMessage(cause)}`;
    throw new TokenError("UNAUTHENTICATED", text, { cause });
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
