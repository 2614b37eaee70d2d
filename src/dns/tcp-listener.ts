import { createServer, type Server, type Socket } from "node:net";
import type { Logger } from "../base/logger.ts";
import { type HostPort, joinHostPort } from "../net/host-port.ts";
import { MAX_MESSAGE_BYTES } from "../protocol/dns/constants.ts";
import { listenError } from "./errors.ts";
import type { DnsLimits } from "./options.ts";
import { LATER, type QueryHandler } from "./query-handler.ts";
import { serveTcpConnection } from "./tcp-connection.ts";

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
