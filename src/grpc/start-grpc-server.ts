import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { CloseStack } from "../base/close-stack.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import type { KeepaliveOptions } from "./keepalive.ts";
import { type ListenAddress, type ListenOptions, listen } from "./listen.ts";
import type { PingPolicy } from "./ping-policy.ts";
import { startServerSession } from "./server-session.ts";
import { createTlsAcceptor, type ServerTls } from "./server-tls.ts";
import type { Implementation } from "./server-types.ts";

export interface GrpcServerOptions {
  readonly listen: ListenOptions;
  readonly methods: readonly Implementation[];
  readonly log: Logger;
  /** Absent: plaintext. */
  readonly tls?: ServerTls;
  readonly handshakeTimeoutMs?: number;
  readonly maxConcurrentStreams?: number;
  /** Per message, after decompression. */
  readonly maxReceiveBytes?: number;
  readonly maxSendBytes?: number;
  readonly maxHeaderBytes?: number;
  readonly windowBytes?: number;
  /** Absent: no pings to clients. */
  readonly keepalive?: KeepaliveOptions;
  /** Absent: clients may ping as they like. */
  readonly pingPolicy?: PingPolicy;
}

export interface GrpcServer extends Handle {
  readonly address: ListenAddress;
  /**
   * Refuses new connections and calls at once (GOAWAY), lets running calls finish and resolves when they have. Those still running
   * after `deadlineMs` are reset. The handle still has to be stopped.
   */
  drain(deadlineMs: number): Promise<void>;
}

const MAX_MESSAGE_BYTES = 2 ** 31 - 1;

/** Resolves when the address is bound. `stop` resets every call and connection; see `drain` for the gentle way. */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  await using opened = new CloseStack();
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  const perSession = sessionOptions(options);
  let draining = false;
  const serve = (socket: Socket) => {
    if (draining) return void socket.destroy();
    const session = startServerSession(socket, perSession);
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  };
  const accept = options.tls === undefined ? serve : acceptTls(options, options.tls, serve);
  // Closing a listener waits for its connections: these go first.
  const listener = await listen(options.listen, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    accept(socket);
  });
  opened.defer(async () => {
    const closed = listener.close();
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const ended = new Promise<void>((_resolve, reject) => listener.server.once("error", reject));
  const owned = opened.move();
  return toHandle({
    address: listener.address,
    ended,
    async drain(deadlineMs: number) {
      draining = true;
      void listener.close();
      await drainSessions(sessions, deadlineMs);
      for (const socket of sockets) socket.destroy();
    },
    stop: () => owned.close(),
  });
}

async function drainSessions(sessions: ReadonlySet<ServerHttp2Session>, deadlineMs: number): Promise<void> {
  const finished = new AbortController();
  const closing = [...sessions].map(
    (session) =>
      new Promise<void>((resolve) => {
        if (session.destroyed) return resolve();
        // Not as the argument of close: a session that its client is closing already would never call it.
        session.once("close", resolve);
        session.close();
      }),
  );
  void Promise.all(closing).then(() => finished.abort());
  await wait(deadlineMs, finished.signal);
  for (const session of sessions) session.destroy();
}

function acceptTls(
  options: GrpcServerOptions,
  tls: ServerTls,
  serve: (socket: Socket) => void,
): (socket: Socket) => void {
  return createTlsAcceptor({
    tls,
    handshakeTimeoutMs: options.handshakeTimeoutMs ?? 20_000,
    onSecure: serve,
    onFailure: (reason) => options.log.debug("TLS handshake failed", { reason }),
  });
}

function sessionOptions(options: GrpcServerOptions) {
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
      maxConcurrentStreams: options.maxConcurrentStreams ?? 100_000,
      maxHeaderBytes: options.maxHeaderBytes ?? 64 * 1024,
      windowBytes: options.windowBytes ?? 256 * 1024,
    },
    keepalive: options.keepalive,
    pingPolicy: options.pingPolicy,
  };
}
