import { request } from "node:http";
import type { Connect } from "../../grpc/index.ts";
import { parseTarget } from "../../grpc/index.ts";
import { bypassesProxy } from "./bypasses-proxy.ts";
import { parseProxy } from "./parse-proxy.ts";

export interface ProxyEnvironment {
  /** HTTPS_PROXY: a URL, its scheme optional; "" for none. */
  readonly httpsProxy: string;
  readonly noProxy: string;
}

/**
 * The way to `address` through the environment's HTTP proxy; undefined when it goes there directly. The name is not resolved here: the
 * proxy may be the only one who can.
 */
export function connectThroughProxy(address: string, { httpsProxy, noProxy }: ProxyEnvironment): Connect | undefined {
  if (httpsProxy === "") return undefined;
  const target = parseTarget(address);
  if (target.kind !== "tcp" || bypassesProxy(target, noProxy)) return undefined;
  const proxy = parseProxy(httpsProxy, "HTTPS_PROXY");
  return (_target, signal) =>
    new Promise((resolve, reject) => {
      const asked = request({
        host: proxy.host,
        port: proxy.port,
        method: "CONNECT",
        path: address,
        headers: { host: address, "user-agent": "pilot-agent", ...proxy.headers },
        agent: false,
        signal,
      });
      asked.once("connect", (response, socket, head) => {
        if (response.statusCode === 200) {
          if (head.length > 0) socket.unshift(head);
          return resolve(socket);
        }
        socket.destroy();
        reject(new Error(`the HTTPS proxy ${proxy.shown} refused: ${response.statusCode} ${response.statusMessage}`));
      });
      // A proxy that answers with a body instead of opening the way.
      asked.once("response", (response) => {
        response.destroy();
        reject(new Error(`the HTTPS proxy ${proxy.shown} refused: ${response.statusCode} ${response.statusMessage}`));
      });
      asked.once("error", (cause) => reject(new Error(`the HTTPS proxy ${proxy.shown}: ${cause.message}`, { cause })));
      asked.end();
    });
}
