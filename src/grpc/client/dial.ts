import { connect as connectSocket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { connectionFailureText } from "../../net/connection-failure.ts";
import { openedSocket } from "../../net/opened-socket.ts";
import { publicRootsFor } from "../../net/tls/handshake-options.ts";
import { serverIdentity } from "../../net/tls/server-identity.ts";
import { GrpcError } from "../status.ts";
import type { ClientCredentials } from "./client-types.ts";
import type { Target } from "./target.ts";

/** The default way to a target: straight over TCP or the unix socket. */
export function dialDirect(target: Target, signal: AbortSignal): Promise<Duplex> {
  const socket =
    target.kind === "unix"
      ? connectSocket({ path: target.path })
      : connectSocket({ host: target.host, port: target.port, noDelay: true });
  return openedSocket(socket, "connect", signal);
}

/** Rejects when the peer's certificate does not verify or HTTP/2 was not agreed on. */
export async function secure(
  socket: Duplex,
  target: Target,
  credentials: ClientCredentials,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const { serverName, ...given } = credentials;
  const options = { ...given, ...publicRootsFor(given) };
  const name = serverName ?? (target.kind === "tcp" ? target.host : "localhost");
  const secured = connectTls({ ...options, ...serverIdentity(name), socket, ALPNProtocols: ["h2"] });
  await openedSocket(secured, "secureConnect", signal);
  if (secured.alpnProtocol === "h2") return secured;
  secured.destroy();
  throw new Error("the server did not agree to HTTP/2 (ALPN h2)");
}

/** Failures before the first call name the address and keep the cause. */
export function unreachable(target: Target, cause: unknown): GrpcError {
  if (cause instanceof GrpcError && cause.code !== "UNAVAILABLE") return cause; // the channel was stopped
  return new GrpcError("UNAVAILABLE", `cannot connect to ${target.text}: ${connectionFailureText(cause)}`, { cause });
}
