import { Socket } from "node:net";
import { createServer, type Server, type TLSSocket, type TlsOptions } from "node:tls";
import { errorMessage } from "../../base/coded-error.ts";
import { connectionFailureText } from "../connection-failure.ts";

/**
 * What one connection is served with. `requestCert` asks the client for a certificate; with `rejectUnauthorized: false` one that
 * does not verify, or none at all, passes too and shows in `peer.tls`.
 */
export type ServerCredentials = Pick<
  TlsOptions,
  | "cert"
  | "key"
  | "ca"
  | "crl"
  | "ciphers"
  | "minVersion"
  | "maxVersion"
  | "ecdhCurve"
  | "sigalgs"
  | "secureOptions"
  | "SNICallback"
  | "requestCert"
  | "rejectUnauthorized"
> & {
  /** The last word on a client after a finished handshake: a returned text refuses it and goes to the log. */
  readonly refuse?: (socket: TLSSocket) => string | undefined;
};

/** Asked for every connection before its handshake; returning the same object again reuses its parsed keys. */
export type ServerTls = () => ServerCredentials | Promise<ServerCredentials>;

export interface TlsAcceptorOptions {
  readonly tls: ServerTls;
  /** Protocols to negotiate, the preferred one first. */
  readonly alpn: readonly string[];
  /** A returned text refuses the connection after its handshake. */
  readonly refuse?: (socket: TLSSocket) => string | undefined;
  readonly handshakeTimeoutMs: number;
  /** Handshakes under way; with one more, the oldest is closed. 1000 by default. */
  readonly maxHandshakes?: number;
  readonly onSecure: (socket: TLSSocket) => void;
  /** The socket is destroyed already. */
  readonly onFailure: (reason: string) => void;
}

const MAX_HANDSHAKES = 1000;

/**
 * Takes accepted sockets through their TLS handshake. node's own server objects do the work, one for each set of credentials; they
 * never listen themselves.
 */
export function createTlsAcceptor(options: TlsAcceptorOptions): (socket: Socket) => void {
  const servers = new WeakMap<ServerCredentials, Server>();
  const underWay = limitHandshakes(options);
  const serverFor = (credentials: ServerCredentials): Server => {
    const known = servers.get(credentials);
    if (known !== undefined) return known;
    const server = createHandshaker(credentials, options, underWay.finished);
    servers.set(credentials, server);
    return server;
  };
  return (socket) => {
    const fail = (failure: unknown) => {
      socket.destroy();
      options.onFailure(`no credentials to serve with: ${errorMessage(failure)}`);
    };
    // While the credentials are fetched the client may go away; without a listener that error would end the process.
    socket.on("error", () => undefined);
    underWay.add(socket);
    new Promise<ServerCredentials>((resolve) => resolve(options.tls()))
      .then((credentials) => {
        if (!socket.destroyed) serverFor(credentials).emit("connection", socket);
      })
      .catch(fail);
  };
}

interface Handshakes {
  add(socket: Socket): void;
  /** Given the socket above the one that was added; node names the lower one in a member of its own. */
  finished(socket: TLSSocket): void;
}

function limitHandshakes({ maxHandshakes = MAX_HANDSHAKES, onFailure }: TlsAcceptorOptions): Handshakes {
  /** The oldest first. */
  const open = new Set<Socket>();
  return {
    add(socket) {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
      const [oldest] = open;
      if (open.size <= maxHandshakes || oldest === undefined) return;
      open.delete(oldest);
      oldest.destroy();
      onFailure(`more than ${maxHandshakes} TLS handshakes are under way, the oldest is closed`);
    },
    finished(secure) {
      const below: unknown = Reflect.get(secure, "_parent");
      if (below instanceof Socket) open.delete(below);
    },
  };
}

function createHandshaker(
  credentials: ServerCredentials,
  options: TlsAcceptorOptions,
  onFinished: (socket: TLSSocket) => void,
): Server {
  const { refuse, ...tlsOptions } = credentials;
  const server = createServer({
    ...tlsOptions,
    ALPNProtocols: [...options.alpn],
    handshakeTimeout: options.handshakeTimeoutMs,
  });
  const refuseSocket = (socket: TLSSocket, reason: string) => {
    socket.on("error", () => undefined);
    socket.destroy();
    options.onFailure(reason);
  };
  server.on("secureConnection", (socket) => {
    onFinished(socket);
    const reason = options.refuse?.(socket) ?? refuse?.(socket);
    if (reason === undefined) options.onSecure(socket);
    else refuseSocket(socket, reason);
  });
  server.on("tlsClientError", (failure, socket) => refuseSocket(socket, connectionFailureText(failure)));
  return server;
}
