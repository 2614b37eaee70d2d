import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import { type PeerCertificate, TLSSocket } from "node:tls";
import { joinHostPort } from "../../net/host-port.ts";

/** The other end of a connection. */
export interface Peer {
  /** "127.0.0.1:41234", or "unix" for the nameless peer of a unix socket. */
  readonly address: string;
  readonly tls: PeerTls | undefined;
}

export interface PeerTls {
  /** The client's certificate was verified against the server's CA list. */
  readonly authorized: boolean;
  /** The leaf; undefined when the client showed none. */
  readonly certificate: X509Certificate | undefined;
  /** DER, leaf first, as far as the client sent it or the CA list completes it. */
  readonly chain: readonly Buffer[];
  /** The name the client asked for (SNI). */
  readonly serverName: string | undefined;
}

/** Read once after the handshake, because a socket forgets its peer when it is destroyed and calls may outlive it. */
export function describePeer(socket: Socket): Peer {
  const address =
    socket.remoteAddress === undefined ? "unix" : joinHostPort(socket.remoteAddress, socket.remotePort ?? 0);
  return { address, tls: socket instanceof TLSSocket ? describeTls(socket) : undefined };
}

function describeTls(socket: TLSSocket): PeerTls {
  const certificate = socket.getPeerX509Certificate();
  const name: unknown = Reflect.get(socket, "servername"); // false without SNI; missing in the type declarations
  return {
    authorized: socket.authorized,
    certificate,
    chain: certificate === undefined ? [] : chainOf(socket),
    serverName: typeof name === "string" ? name : undefined,
  };
}

function chainOf(socket: TLSSocket): Buffer[] {
  const chain: Buffer[] = [];
  let current: PeerCertificate | undefined = socket.getPeerCertificate(true);
  // A self-signed root names itself as its issuer: the walk ends where it would turn in a circle.
  while (current?.raw !== undefined && !chain.some((known) => known.equals(current?.raw ?? known))) {
    chain.push(current.raw);
    current = "issuerCertificate" in current ? (current.issuerCertificate as PeerCertificate) : undefined;
  }
  return chain;
}
