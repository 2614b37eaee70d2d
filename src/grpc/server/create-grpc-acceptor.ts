import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Logger } from "../../base/logger.ts";
import { wait } from "../../base/wait.ts";
import type { KeepaliveOptions } from "../../net/http2/keepalive.ts";
import type { PingPolicy } from "./ping-policy.ts";
import { FLOOD_LIMITS, type FloodLimits, startServerSession } from "./server-session.ts";
import type { Implementation } from "./server-types.ts";
import { destroyTerminatedSessions } from "./terminated-sessions.ts";

export interface GrpcAcceptorOptions {
  readonly methods: readonly Implementation[];
  readonly log: Logger;
  /** Per connection; nothing, or less than that, means no limit. */
  readonly maxConcurrentStreams?: number;
  /** Connections without a call; with one more, the one that is idle for the longest time is closed. 1000 by default. */
  readonly maxIdleConnections?: number;
  /** Per message, after decompression. */
  readonly maxReceiveBytes?: number;
  readonly maxSendBytes?: number;
  readonly maxHeaderBytes?: number;
  readonly windowBytes?: number;
  /** Absent: no pings to clients. */
  readonly keepalive?: KeepaliveOptions;
  /** Absent: clients may ping as they like. */
  readonly pingPolicy?: PingPolicy;
  /** What ends a connection with GOAWAY ENHANCE_YOUR_CALM; each 100 a second and 500 at once by default. */
  readonly floodLimits?: Partial<FloodLimits>;
  /** How long a client may take nothing of what waits for it while nothing more is read from it; a minute by default. */
  readonly stuckWriteMs?: number;
  /** Takes requests that are not gRPC, on ports that serve other things too; absent: they are refused. */
  readonly onOtherRequest?: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;
}

/** Owns the connections it was given until they are closed. */
export interface GrpcAcceptor {
  /** A connection that speaks HTTP/2 from its first byte on, TLS or not. */
  accept(socket: Socket): void;
  /** Refuses new connections and calls, lets running ones finish and resets those that have not after `deadlineMs`. */
  drain(deadlineMs: number): Promise<void>;
  /** Resets every call and connection. */
  stop(): void;
}

/** How long a connection that is over waits for its client to see so. */
const LINGER_MS = 300;
const MAX_IDLE_CONNECTIONS = 1000;
const STUCK_WRITE_MS = 60_000;
const MAX_MESSAGE_BYTES = 2 ** 31 - 1;
/** HTTP/2 has 32 bits for it; node throws for what does not fit, with the first connection. */
const MAX_STREAMS = 2 ** 32 - 1;

/** gRPC on connections accepted elsewhere. */
export function createGrpcAcceptor(options: GrpcAcceptorOptions): GrpcAcceptor {
  const sessions = new Map<ServerHttp2Session, Socket>();
  const perSession = sessionOptions(options);
  const terminated = destroyTerminatedSessions(options.stuckWriteMs ?? STUCK_WRITE_MS, (session) => {
    options.log.debug("gRPC connection ended after malformed HTTP/2 or a stuck write", {
      peer: sessions.get(session)?.remoteAddress ?? "unix",
    });
  });
  /** The one that is idle for the longest time first. */
  const idle = new Set<ServerHttp2Session>();
  const maxIdle = options.maxIdleConnections ?? MAX_IDLE_CONNECTIONS;
  const addIdle = (session: ServerHttp2Session) => {
    if (session.destroyed) return;
    idle.add(session);
    const [oldest] = idle;
    if (idle.size <= maxIdle || oldest === undefined) return;
    options.log.debug("idle gRPC connection closed", { peer: sessions.get(oldest)?.remoteAddress ?? "unix", maxIdle });
    idle.delete(oldest);
    oldest.destroy();
  };
  let isOver = false;
  return {
    accept(socket) {
      if (isOver) return void socket.destroy();
      const session = startServerSession(socket, {
        ...perSession,
        onIdle: () => addIdle(session),
        onBusy: () => idle.delete(session),
      });
      sessions.set(session, socket);
      terminated.watch(session, socket);
      session.once("close", () => {
        sessions.delete(session);
        idle.delete(session);
      });
      addIdle(session);
    },
    async drain(deadlineMs) {
      isOver = true;
      await drainSessions(sessions, deadlineMs);
    },
    stop() {
      isOver = true;
      for (const session of sessions.keys()) session.destroy();
    },
  };
}

async function drainSessions(sessions: ReadonlyMap<ServerHttp2Session, Socket>, deadlineMs: number): Promise<void> {
  const finished = new AbortController();
  const closing = [...sessions].map(
    ([session, socket]) =>
      new Promise<void>((resolve) => {
        // Not as the argument of close: a session that its client is closing already would never call it.
        session.once("close", resolve);
        // Everything is said, and only a client that is alive closes its side.
        const linger = () => void wait(LINGER_MS, finished.signal).then(resolve);
        if (socket.writableFinished) linger();
        else socket.once("finish", linger);
        session.close();
      }),
  );
  void Promise.all(closing).then(() => finished.abort());
  await wait(deadlineMs, finished.signal);
  for (const [session, socket] of sessions) {
    session.destroy();
    socket.destroy();
  }
}

function sessionOptions(options: GrpcAcceptorOptions) {
  const methods = new Map(options.methods.map((each) => [each.path, each]));
  const services = new Set(options.methods.map((each) => each.path.slice(1, each.path.lastIndexOf("/"))));
  return {
    dispatcher: {
      methods,
      services,
      log: options.log,
      limits: {
        maxReceiveBytes: options.maxReceiveBytes ?? 4 * 1024 * 1024,
        maxSendBytes: options.maxSendBytes ?? MAX_MESSAGE_BYTES,
      },
    },
    limits: {
      maxConcurrentStreams: streamLimit(options.maxConcurrentStreams ?? 100_000),
      maxHeaderBytes: options.maxHeaderBytes ?? 64 * 1024,
      windowBytes: options.windowBytes ?? 256 * 1024,
    },
    floodLimits: { ...FLOOD_LIMITS, ...options.floodLimits },
    keepalive: options.keepalive,
    pingPolicy: options.pingPolicy,
    onOtherRequest: options.onOtherRequest,
  };
}

function streamLimit(asked: number): number {
  return asked > 0 ? Math.min(asked, MAX_STREAMS) : MAX_STREAMS;
}
