import type { Socket } from "node:net";
import { CloseStack } from "../../base/close-stack.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import { untilAcceptFails } from "../../net/listen/accept-failures.ts";
import { type ListenAddress, type ListenOptions, listen } from "../../net/listen/listen.ts";
import { createTlsAcceptor, type ServerTls } from "../../net/listen/tls-acceptor.ts";
import { createGrpcAcceptor, type GrpcAcceptorOptions } from "./create-grpc-acceptor.ts";

export interface GrpcServerOptions extends GrpcAcceptorOptions {
  readonly listen: ListenOptions;
  /** Absent: plaintext. */
  readonly tls?: ServerTls;
  readonly handshakeTimeoutMs?: number;
  /** TLS handshakes under way; see `TlsAcceptorOptions`. */
  readonly maxHandshakes?: number;
}

export interface GrpcServer extends Handle {
  readonly address: ListenAddress;
  /**
   * Refuses new connections and calls at once (GOAWAY), lets running calls finish and resolves when they have. Those still running
   * after `deadlineMs` are reset. The handle still has to be stopped.
   */
  drain(deadlineMs: number): Promise<void>;
}

/** Resolves when the address is bound. `stop` resets every call and connection; see `drain` for the gentle way. */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  await using opened = new CloseStack();
  const sockets = new Set<Socket>();
  const acceptor = createGrpcAcceptor(options);
  const accept = options.tls === undefined ? acceptor.accept : acceptTls(options, options.tls, acceptor.accept);
  // Closing a listener waits for its connections: these go first.
  const listener = await listen(options.listen, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    accept(socket);
  });
  opened.defer(async () => {
    const closed = listener.close();
    acceptor.stop();
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const ended = untilAcceptFails([listener.server], options.log);
  const owned = opened.move();
  return toHandle({
    address: listener.address,
    ended,
    async drain(deadlineMs: number) {
      void listener.close();
      await acceptor.drain(deadlineMs);
      for (const socket of sockets) socket.destroy();
    },
    stop: () => owned.close(),
  });
}

function acceptTls(
  options: GrpcServerOptions,
  tls: ServerTls,
  serve: (socket: Socket) => void,
): (socket: Socket) => void {
  return createTlsAcceptor({
    tls,
    alpn: ["h2"],
    refuse: ({ alpnProtocol }) => (alpnProtocol === "h2" ? undefined : "the client does not offer HTTP/2 (ALPN h2)"),
    handshakeTimeoutMs: options.handshakeTimeoutMs ?? 20_000,
    ...(options.maxHandshakes !== undefined && { maxHandshakes: options.maxHandshakes }),
    onSecure: serve,
    onFailure: (reason) => options.log.debug("TLS handshake failed", { reason }),
  });
}
