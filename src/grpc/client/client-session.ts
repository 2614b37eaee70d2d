import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connectionFailureText } from "../../net/connection-failure.ts";
import { startKeepalive } from "../../net/http2/keepalive.ts";
import { GrpcError } from "../status.ts";
import type { GrpcChannelOptions } from "./client-types.ts";
import { dialDirect, secure, unreachable } from "./dial.ts";
import { http2ErrorName } from "./status-mapping.ts";
import type { Target } from "./target.ts";

/** One HTTP/2 connection of a channel. */
export interface ClientSession {
  readonly http2: ClientHttp2Session;
  /** Set when the connection is lost: the status of every call that was running on it. */
  lost: GrpcError | undefined;
  /** False after GOAWAY or the loss of the connection: new calls need another session. */
  isUsable(): boolean;
  openCalls: number;
  /** The number of the last stream that the peer will look at. */
  lastAccepted: number;
  /** What the peer may send ahead, once it has heard of it. */
  windowBytes: number;
  isResizing: boolean;
}

export const DEFAULT_WINDOW_BYTES = 1024 * 1024;
/** What HTTP/2 begins with; there is no way to say less. */
const SMALLEST_CONNECTION_WINDOW = 65_535;

/** Resolves when the peer has sent its HTTP/2 settings; merely accepting is not enough. Rejects with UNAVAILABLE, nothing left open. */
export async function openClientSession(
  target: Target,
  options: GrpcChannelOptions,
  signal: AbortSignal,
): Promise<ClientSession> {
  try {
    const credentials = await unlessAborted(Promise.resolve(options.tls?.()), signal);
    const socket = await unlessAborted(options.connect?.(signal) ?? dialDirect(target, signal), signal, (late) =>
      late.destroy(),
    );
    const secured =
      credentials === undefined
        ? socket
        : await secure(socket, target, credentials, signal).catch((failure: unknown) => {
            socket.destroy();
            throw failure;
          });
    return await handshake(secured, options, signal);
  } catch (cause) {
    throw unreachable(target, cause);
  }
}

/** The timeout holds even for a hook that does not watch its signal; what it brings too late is thrown away. */
function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
  discard?: (late: Result) => void,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      reject(signal.reason);
      work.then(discard, () => undefined);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function handshake(socket: Duplex, options: GrpcChannelOptions, signal: AbortSignal): Promise<ClientSession> {
  // node:http2 would wait for ever on a socket that is already closed.
  if (socket.destroyed) throw socket.errored ?? new Error("the connection was closed by the peer");
  const windowBytes = options.windowBytes ?? DEFAULT_WINDOW_BYTES;
  const session = createSession(socket, options, windowBytes);
  const { http2 } = session;
  return new Promise((resolve, reject) => {
    const finish = (failure?: unknown) => {
      signal.removeEventListener("abort", onAbort);
      http2.off("remoteSettings", onReady).off("error", finish).off("close", onClose);
      if (failure !== undefined) {
        http2.destroy();
        socket.destroy();
        return reject(failure);
      }
      http2.setLocalWindowSize(Math.max(windowBytes, SMALLEST_CONNECTION_WINDOW));
      resolve(session);
    };
    const onReady = () => finish();
    const onClose = () => finish(session.lost ?? new Error("the connection was closed by the peer"));
    const onAbort = () => finish(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    http2.once("remoteSettings", onReady).once("error", finish).once("close", onClose);
  });
}

/** Holds for the calls that run and for later ones. What the peer has sent already is not lost: it just waits longer before it goes on. */
export function resizeWindow(session: ClientSession, windowBytes: number): void {
  session.windowBytes = windowBytes;
  const { http2 } = session;
  if (http2.destroyed || session.isResizing) return;
  session.isResizing = true;
  const send = () => {
    session.isResizing = false;
    if (http2.destroyed) return;
    http2.settings({ initialWindowSize: session.windowBytes });
    http2.setLocalWindowSize(Math.max(session.windowBytes, SMALLEST_CONNECTION_WINDOW));
  };
  // node gives up a connection whose peer has ten settings to acknowledge.
  if (http2.pendingSettingsAck) http2.once("localSettings", send);
  else send();
}

function createSession(socket: Duplex, options: GrpcChannelOptions, windowBytes: number): ClientSession {
  const lose = (text: string, cause?: unknown) => {
    session.lost ??= new GrpcError("UNAVAILABLE", text, { cause });
  };
  // Before http2 attaches its own listeners: these close the streams, and their status needs the reason.
  socket.on("error", (failure) => {
    lose(`error reading from server: ${connectionFailureText(failure)}`, failure);
    http2.destroy(); // a TLS alert after the handshake does not end the session by itself
    socket.destroy();
  });
  socket.on("close", () => lose("error reading from server: EOF"));
  const http2 = connectHttp2("http://localhost", {
    createConnection: () => socket,
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
    settings: {
      enablePush: false,
      initialWindowSize: windowBytes,
      maxHeaderListSize: options.maxHeaderBytes ?? 64 * 1024,
    },
  });
  let goneAway = false;
  const session: ClientSession = {
    http2,
    lost: undefined,
    openCalls: 0,
    lastAccepted: Number.POSITIVE_INFINITY,
    windowBytes,
    isResizing: false,
    isUsable: () => session.lost === undefined && !goneAway && !http2.closed && !http2.destroyed,
  };
  http2.on("goaway", (code, lastStream, data?: Buffer) => {
    goneAway = true;
    session.lastAccepted = lastStream;
    // A connection that ends with an error takes its calls along; after NO_ERROR they may finish.
    if (code !== 0)
      lose(`received GOAWAY with code ${http2ErrorName(code)}${data?.length ? `: ${data.toString("utf8")}` : ""}`);
  });
  http2.on("error", (failure) => lose(`the connection failed: ${connectionFailureText(failure)}`, failure));
  if (options.keepalive !== undefined && socket instanceof Socket) {
    const onDead = () => {
      lose("keepalive ping failed to receive ACK within timeout");
      http2.destroy();
    };
    const isActive = () => session.openCalls > 0;
    http2.once("close", startKeepalive(options.keepalive, { session: http2, socket, isActive, onDead }));
  }
  return session;
}
