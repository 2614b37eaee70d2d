import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import { CloseStack } from "../../base/close-stack.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import { untilAcceptFails } from "../listen/accept-failures.ts";
import { type ListenAddress, type Listener, type ListenOptions, listen } from "../listen/listen.ts";
import type { ServerTls } from "../listen/tls-acceptor.ts";
import { type AnswerOptions, answerExchange } from "./answer-exchange.ts";
import { Connections } from "./connections.ts";
import { http1Exchange } from "./exchanges.ts";
import { createProtocolSplitter } from "./split-protocols.ts";

export interface HttpServerOptions extends AnswerOptions {
  /** At least one; bound in this order. Where the first takes any free port (0), the others take the same. */
  readonly listen: readonly ListenOptions[];
  /** Absent: plaintext. */
  readonly tls?: ServerTls;
  /** Takes connections that speak HTTP/2 from their first byte on; without it there is HTTP/1 alone. */
  readonly onHttp2?: (socket: Socket) => void;
  readonly limits?: HttpLimits;
}

/** Durations of 0 are without end. */
export interface HttpLimits {
  /** For the head of a request. */
  readonly headersMs?: number;
  /** For a whole request, its body included. */
  readonly requestMs?: number;
  /** Between two requests of a connection. */
  readonly keepAliveMs?: number;
  /** Without any byte in either direction, also while an answer is made. */
  readonly idleMs?: number;
  /** For the first bytes, where they decide about the protocol. */
  readonly silenceMs?: number;
  /** For an answer to a client that has closed its half of the connection. */
  readonly halfClosedMs?: number;
  /** For answers under way when the server is stopped. */
  readonly graceMs?: number;
  /** Of all addresses together. Beyond it the connection that has waited longest for a request is closed, or the new one when none waits. */
  readonly maxConnections?: number;
}

export interface HttpServer extends Handle {
  /** The first one. */
  readonly address: ListenAddress;
  /** 0 for a unix socket. */
  readonly port: number;
}

const HANDSHAKE_MS = 20_000;
/** node's own limits. */
const DEFAULTS = { headersMs: 60_000, requestMs: 300_000, keepAliveMs: 5_000, idleMs: 0, graceMs: 0 };
const SILENCE_MS = 30_000;
const HALF_CLOSED_MS = 90_000;
const CHECK_MS = 30_000;

/**
 * Resolves when every address is bound; rejects with a ListenError and leaves none open. `stop` waits for
 * answers under way, `graceMs` at most, and closes every connection, those of silent clients too.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const limits = { ...DEFAULTS, ...options.limits };
  const connections = new Connections(limits.maxConnections ?? Number.POSITIVE_INFINITY);
  const http1 = createHttp1(options, limits, connections);
  const accept = await createAccept(options, limits, (socket) => {
    connections.awaitRequest(socket);
    http1.emit("connection", socket);
  });
  await using opened = new CloseStack();
  // Last: a listener is closed when its connections are.
  const listeners: Listener[] = [];
  opened.defer(async () => {
    const closed = Promise.all(listeners.map((listener) => listener.close()));
    await connections.close(limits.graceMs);
    http1.close();
    await closed;
  });
  const onConnection = (socket: Socket) => {
    if (connections.admit(socket)) accept(socket);
  };
  for (const each of options.listen) {
    listeners.push(await listen(samePort(each, listeners[0]), onConnection, { allowHalfOpen: true }));
  }
  const ended = untilAcceptFails(
    listeners.map(({ server }) => server),
    options.log,
  );
  const [first] = listeners;
  if (first === undefined) throw new Error("an HTTP server needs an address to listen on");
  const { address } = first;
  const owned = opened.move();
  return toHandle({ address, port: "port" in address ? address.port : 0, ended, stop: () => owned.close() });
}

function createHttp1(options: AnswerOptions, limits: HttpLimits & typeof DEFAULTS, connections: Connections): Server {
  const { headersMs, requestMs, keepAliveMs, idleMs, halfClosedMs = HALF_CLOSED_MS } = limits;
  // node refuses a head that may take longer than the whole.
  const headersTimeout = requestMs === 0 ? headersMs : Math.min(headersMs, requestMs);
  const checked = [headersTimeout, requestMs].filter((ms) => ms > 0).map((ms) => ms / 2);
  const server = createServer(
    {
      keepAliveTimeout: keepAliveMs,
      requestTimeout: requestMs,
      headersTimeout,
      connectionsCheckingInterval: Math.ceil(Math.min(CHECK_MS, ...checked)),
    },
    (request, response) => {
      connections.track(request.socket, response);
      void answerExchange(http1Exchange(request, response), options);
    },
  );
  server.timeout = idleMs;
  // It gets its connections from us, but only a server that listens checks its time limits.
  server.emit("listening");
  answerHalfClosed(server, halfClosedMs);
  return server;
}

/**
 * A client that has sent its request may close its half at once (`nc -N`, old HTTP clients) and still read. One that left for good looks
 * the same until something is sent to it: an answer that never comes must not hold its connection.
 */
function answerHalfClosed(server: Server, limitMs: number): void {
  // Absent from the types, and the only way: by default node cuts such a connection before its answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("connection", (socket) => {
    socket.once("end", () => {
      const sentBytes = socket.bytesWritten;
      const limit = setTimeout(() => socket.bytesWritten === sentBytes && socket.destroy(), limitMs);
      socket.once("close", () => clearTimeout(limit));
    });
  });
}

async function createAccept(
  { tls, onHttp2, log }: HttpServerOptions,
  { silenceMs = SILENCE_MS }: HttpLimits,
  onHttp1: (socket: Socket) => void,
): Promise<(socket: Socket) => void> {
  const serve = onHttp2 === undefined ? onHttp1 : createProtocolSplitter({ onHttp1, onHttp2, silenceMs });
  if (tls === undefined) return serve;
  const { createTlsAcceptor } = await import("../listen/tls-acceptor.ts");
  return createTlsAcceptor({
    tls,
    alpn: onHttp2 === undefined ? ["http/1.1"] : ["h2", "http/1.1"],
    handshakeTimeoutMs: HANDSHAKE_MS,
    onSecure: serve,
    onFailure: (reason) => log.debug("TLS handshake failed", { reason }),
  });
}

function samePort(options: ListenOptions, first: Listener | undefined): ListenOptions {
  if (first === undefined || !("port" in first.address) || !("port" in options) || options.port !== 0) return options;
  return { ...options, port: first.address.port };
}
