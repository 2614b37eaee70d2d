import type { Duplex } from "node:stream";
import type { ProxyAddress } from "./parse-proxy.ts";

/**
 * A byte stream to `target` (host:port) through an HTTP proxy (CONNECT, RFC 9110 section 9.3.6). The name is not resolved here: the proxy
 * may be the only one that can.
 */
export async function connectTunnel(proxy: ProxyAddress, target: string, signal: AbortSignal): Promise<Duplex> {
  const { request } = await import("node:http");
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: proxy.host,
      port: proxy.port,
      method: "CONNECT",
      path: target,
      headers: { host: target, "user-agent": "pilot-agent", ...proxy.headers },
      agent: false,
      signal,
    });
    outgoing.once("connect", (response, socket, head) => {
      if (response.statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        return resolve(socket);
      }
      socket.destroy();
      reject(new Error(`the HTTPS proxy ${proxy.shown} refused: ${response.statusCode} ${response.statusMessage}`));
    });
    // A proxy that answers with a body instead of opening the tunnel.
    outgoing.once("response", (response) => {
      response.destroy();
      reject(new Error(`the HTTPS proxy ${proxy.shown} refused: ${response.statusCode} ${response.statusMessage}`));
    });
    outgoing.once("error", (cause) => reject(new Error(`the HTTPS proxy ${proxy.shown}: ${cause.message}`, { cause })));
    outgoing.end();
  });
}
