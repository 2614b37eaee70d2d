import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from "node:http2";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connectionFailureText } from "../connection-failure.ts";
import { type KeepaliveOptions, startKeepalive } from "./keepalive.ts";

export interface Http2Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Uint8Array | undefined;
  /** Also ends the reading of the body. */
  readonly signal: AbortSignal;
}

export interface Http2Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: ResponseBody;
}

/** Read to its end or destroyed by the caller. Reading fails when the answer is cut off. */
export interface ResponseBody extends AsyncIterable<Buffer> {
  destroy(): void;
}

/** A connection for any number of requests at a time. */
export interface Http2Session {
  /** False after GOAWAY or the loss of the connection: new requests need another session. */
  isUsable(): boolean;
  /** Resolves with the head of the response. */
  request(request: Http2Request): Promise<Http2Response>;
  /** Takes no further requests, and closes when those that run are done. */
  drain(): void;
  /** Ends all requests. Resolves when the connection is closed. */
  destroy(): Promise<void>;
}

export interface Http2SessionOptions {
  readonly scheme: "http" | "https";
  readonly authority: string;
  /** Pings while a request is open and the peer is silent; none when absent. */
  readonly keepalive?: KeepaliveOptions | undefined;
}

const WINDOW_BYTES = 4 * 1024 * 1024;

/** Over an open connection, on which HTTP/2 was agreed. Takes the socket: it is closed with the session. */
export function openHttp2Session(socket: Duplex, options: Http2SessionOptions): Http2Session {
  let lost: Error | undefined;
  let goneAway = false;
  let openRequests = 0;
  const lose = (text: string, cause?: unknown) => {
    lost ??= new Error(text, { cause });
  };
  // Before http2 attaches its own listeners: these close the streams, whose errors need the reason.
  socket.on("error", (failure) => {
    lose(connectionFailureText(failure), failure);
    http2.destroy(lost);
  });
  socket.on("close", () => lose("the connection was closed by the peer"));
  const http2: ClientHttp2Session = connect(`${options.scheme}://${options.authority}`, {
    createConnection: () => socket,
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
    settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
  });
  http2.once("connect", () => http2.setLocalWindowSize(WINDOW_BYTES));
  http2.on("goaway", (code) => {
    goneAway = true;
    if (code !== 0) lose(`the server closed the connection (GOAWAY with code ${code})`);
  });
  http2.on("error", (failure) => lose(connectionFailureText(failure), failure));
  if (options.keepalive !== undefined && socket instanceof Socket) {
    const onDead = () => {
      lose("the server does not answer pings");
      // With its reason: streams of a session that is merely destroyed look as if they had ended.
      http2.destroy(lost);
    };
    const isActive = () => openRequests > 0;
    http2.once("close", startKeepalive(options.keepalive, { session: http2, socket, isActive, onDead }));
  }
  const isUsable = () => lost === undefined && !goneAway && !http2.closed && !http2.destroyed;
  return {
    isUsable,
    request(request) {
      if (!isUsable()) return Promise.reject(lost ?? new Error("the connection is closing"));
      const stream = http2.request(requestHeaders(request, options), { endStream: request.body === undefined });
      openRequests += 1;
      stream.once("close", () => {
        openRequests -= 1;
      });
      return respond(stream, request, () => lost);
    },
    drain: () => http2.close(),
    destroy: () =>
      new Promise((resolve) => {
        if (http2.destroyed && socket.destroyed) return resolve();
        socket.once("close", () => resolve());
        http2.destroy();
        socket.destroy();
      }),
  };
}

function requestHeaders(
  { method, path, headers, body }: Http2Request,
  { scheme, authority }: Http2SessionOptions,
): OutgoingHttpHeaders {
  const sent: OutgoingHttpHeaders = {
    ":method": method,
    ":scheme": scheme,
    ":authority": authority,
    ":path": path,
    ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
  };
  for (const [name, value] of Object.entries(headers)) sent[name] = typeof value === "string" ? value : [...value];
  return sent;
}

function respond(
  stream: ClientHttp2Stream,
  { signal, body }: Http2Request,
  lost: () => Error | undefined,
): Promise<Http2Response> {
  return new Promise((resolve, reject) => {
    let failure: Error | undefined;
    const onAbort = () => {
      failure = signal.reason instanceof Error ? signal.reason : new Error("cancelled");
      stream.destroy(failure);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    stream.on("error", (thrown) => {
      failure ??= lost() ?? thrown;
      reject(failure);
    });
    // A connection that is lost ends streams without an error of theirs.
    stream.once("close", () => {
      signal.removeEventListener("abort", onAbort);
      reject(failure ?? lost() ?? new Error("the connection was closed without an answer"));
    });
    stream.once("response", (headers) =>
      resolve({
        status: Number(headers[":status"] ?? 0),
        headers: headers as Record<string, string | string[] | undefined>,
        body: {
          [Symbol.asyncIterator]: () => pieces(stream, () => failure ?? lost()),
          destroy: () => void stream.destroy(),
        },
      }),
    );
    if (signal.aborted) return onAbort();
    if (body !== undefined) stream.end(body);
  });
}

/** Node ends the streams of a connection that is lost as if the peer had ended them; only their code says otherwise. */
async function* pieces(
  stream: ClientHttp2Stream,
  failure: () => Error | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of stream) yield chunk;
  if (stream.rstCode !== constants.NGHTTP2_NO_ERROR || stream.aborted)
    throw failure() ?? new Error("the answer was cut off");
}
