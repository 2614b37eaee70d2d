import { createServer, type Server, type Socket } from "node:net";
import type { Logger } from "../base/logger.ts";
import { type HostPort, joinHostPort } from "../net/host-port.ts";
import { MAX_MESSAGE_BYTES } from "../protocol/dns/constants.ts";
import { listenError } from "./errors.ts";
import type { DnsLimits } from "./options.ts";
import { LATER, type QueryHandler } from "./query-handler.ts";

/** Replies that wait for a client which does not read; more are not made before it does. */
const MAX_UNSENT_BYTES = 256 * 1024;

export interface TcpListener {
  readonly address: HostPort;
  stop(): Promise<void>;
}

/** Binds and starts answering. An empty host is every local address. */
export async function startTcpListener(
  address: HostPort,
  handler: QueryHandler,
  limits: DnsLimits,
  log: Logger,
): Promise<TcpListener> {
  const server = createServer({ noDelay: true, allowHalfOpen: true });
  // Least recently used first, so that a flood of idle clients costs only idle ones their connection.
  const connections = new Set<Socket>();
  const out = Buffer.alloc(MAX_MESSAGE_BYTES);
  const answer = (message: Buffer, socket: Socket): Buffer | Promise<Buffer> | undefined => {
    connections.delete(socket);
    connections.add(socket);
    const length = handler.answer(message, out, "tcp");
    if (length === LATER) return handler.answerLater(message, "tcp", socket.remotePort ?? 0);
    return length === 0 ? undefined : Buffer.from(out.subarray(0, length));
  };
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
    const [oldest] = connections;
    if (connections.size > limits.maxTcpConnections) oldest?.destroy();
    serveTcpConnection(socket, limits, (message) => answer(message, socket));
  });
  const port = await bindTcp(server, address);
  // A failed accept (no file descriptors left) arrives here; the server goes on listening.
  server.on("error", (failure) => log.warn("TCP accept failed", { error: failure.message }));
  return {
    address: { host: address.host, port },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of connections) socket.destroy();
      }),
  };
}

function bindTcp(server: Server, address: HostPort): Promise<number> {
  const { host, port } = address;
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => reject(listenError("tcp", joinHostPort(address.host, address.port), cause)));
    server.listen({ port, exclusive: true, ...(host === "" ? {} : { host, ipv6Only: false }) }, () => {
      server.removeAllListeners("error");
      const bound = server.address();
      resolve(typeof bound === "object" && bound !== null ? bound.port : port);
    });
  });
}

/**
 * Serves the queries of one connection: pipelined ones at the same time, each answered as soon as its reply is known. The time for a query
 * runs until it is complete, so that a byte now and then does not hold the connection.
 */
function serveTcpConnection(
  socket: Socket,
  limits: DnsLimits,
  answer: (message: Buffer) => Buffer | Promise<Buffer> | undefined,
): void {
  let received = Buffer.alloc(0);
  let queries = 0;
  let waiting = 0;
  let clientEnded = false;

  const expire = () => {
    // A reply that upstream still owes is not the client's fault.
    if (waiting > 0) restartTimer();
    else socket.destroy();
  };
  let timer = setTimeout(expire, limits.tcpFirstMs);
  const restartTimer = () => {
    clearTimeout(timer);
    timer = setTimeout(expire, limits.tcpIdleMs);
  };

  const isBusy = () => waiting >= limits.maxTcpPipelined || socket.writableLength > MAX_UNSENT_BYTES;
  const advance = () => {
    while (!socket.destroyed && !isBusy() && queries < limits.maxTcpQueries) {
      const message = nextMessage();
      if (message === undefined) break;
      queries++;
      restartTimer();
      const reply = answer(message);
      if (reply instanceof Promise) void sendLater(reply);
      else if (reply !== undefined) send(reply);
    }
    const isLast = clientEnded || queries >= limits.maxTcpQueries;
    if (isLast && waiting === 0) socket.end();
    if (isBusy() || queries >= limits.maxTcpQueries) socket.pause();
    else socket.resume();
  };
  const nextMessage = (): Buffer | undefined => {
    if (received.length < 2) return undefined;
    const end = 2 + received.readUInt16BE(0);
    if (received.length < end) return undefined;
    const message = received.subarray(2, end);
    received = received.subarray(end);
    return message;
  };
  const send = (reply: Buffer) => {
    if (socket.destroyed) return;
    const frame = Buffer.allocUnsafe(2 + reply.length);
    frame.writeUInt16BE(reply.length, 0);
    reply.copy(frame, 2);
    socket.write(frame);
  };
  const sendLater = async (reply: Promise<Buffer>) => {
    waiting++;
    send(await reply);
    waiting--;
    if (!socket.destroyed) advance();
  };

  socket.on("data", (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    advance();
  });
  socket.on("drain", advance);
  // A client that closes its half still gets the replies it waits for.
  socket.on("end", () => {
    clientEnded = true;
    advance();
  });
  socket.on("error", () => socket.destroy());
  socket.on("close", () => clearTimeout(timer));
}
