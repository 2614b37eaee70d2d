import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { errorMessage } from "../../base/coded-error.ts";
import { splitHostPort } from "../host-port.ts";
import { isIP } from "../ip.ts";
import { openedSocket } from "../opened-socket.ts";
import { type ProxyAddress, type ProxyRoots, proxyHeaders } from "./proxy-address.ts";
import { openSocks5 } from "./socks5.ts";

export interface Tunnel {
  readonly proxy: ProxyAddress;
  /** host:port; the name is not resolved here, because the proxy may be the only one that can. */
  readonly target: string;
  readonly roots: ProxyRoots | undefined;
}

/** A byte stream to the target through the proxy. Rejects with an error that names the proxy; nothing stays open then. */
export async function connectTunnel({ proxy, target, roots }: Tunnel, signal: AbortSignal): Promise<Duplex> {
  const named = `the ${proxy.scheme === "socks5" ? "SOCKS" : "HTTPS"} proxy ${proxy.shown}`;
  const fail = (cause: unknown) => new Error(`${named}: ${errorMessage(cause)}`, { cause });
  const socket = await connectProxy(proxy, signal, roots).catch((cause: unknown) => Promise.reject(fail(cause)));
  try {
    return await (proxy.scheme === "socks5"
      ? socksTunnel(socket, proxy, target, signal)
      : httpTunnel(socket, proxy, target, signal));
  } catch (failure) {
    socket.destroy();
    throw failure instanceof Refusal ? new Error(`${named} ${failure.message}`) : fail(failure);
  }
}

/** The connection to the proxy itself, TLS included where its scheme says so. */
export async function connectProxy(proxy: ProxyAddress, signal: AbortSignal, roots?: ProxyRoots): Promise<Socket> {
  const { host, port } = proxy;
  signal.throwIfAborted();
  if (proxy.scheme !== "https") {
    const { connect } = await import("node:net");
    return openedSocket(connect({ host, port }), "connect", signal);
  }
  const [{ connect }, { publicRoots }] = await Promise.all([import("node:tls"), import("../tls/public-roots.ts")]);
  const secureContext = (roots ?? publicRoots)();
  const servername = isIP(host) === 0 ? host : "";
  return openedSocket(
    connect({ host, port, secureContext, servername, minVersion: "TLSv1.2" }),
    "secureConnect",
    signal,
  );
}

/** The proxy answered, with a no. */
class Refusal extends Error {}

/** CONNECT, RFC 9110 section 9.3.6. */
async function httpTunnel(socket: Socket, proxy: ProxyAddress, target: string, signal: AbortSignal): Promise<Duplex> {
  const { request } = await import("node:http");
  return new Promise((resolve, reject) => {
    const outgoing = request({
      createConnection: () => socket,
      method: "CONNECT",
      path: target,
      headers: { host: target, "user-agent": "pilot-agent", ...proxyHeaders(proxy) },
      signal,
    });
    outgoing.once("connect", (response, stream, head) => {
      if (response.statusCode !== 200)
        return reject(new Refusal(`refused: ${response.statusCode} ${response.statusMessage}`));
      if (head.length > 0) stream.unshift(head);
      resolve(stream);
    });
    // A proxy that answers with a body instead of opening the tunnel.
    outgoing.once("response", (response) => {
      response.destroy();
      reject(new Refusal(`refused: ${response.statusCode} ${response.statusMessage}`));
    });
    outgoing.once("error", reject);
    outgoing.end();
  });
}

async function socksTunnel(socket: Socket, proxy: ProxyAddress, target: string, signal: AbortSignal): Promise<Duplex> {
  const split = splitHostPort(target);
  if ("problem" in split) throw new Error(`${target}: ${split.problem}`);
  const onAbort = () => socket.destroy(signal.reason instanceof Error ? signal.reason : undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const refusal = await openSocks5(socket, { host: split.host, port: Number(split.port), login: proxy.login });
    if (refusal !== undefined) throw new Refusal(`refused: ${refusal}`);
    return socket;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
