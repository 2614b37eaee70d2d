import type { RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import type { Dial } from "../../net/dial.ts";
import type { ProxyAddress } from "../../net/http-proxy/parse-proxy.ts";

/** Options of a request that goes to the proxy: it is told the whole address, and the host which one is meant. */
export function forwarded(
  { host, port, headers }: ProxyAddress,
  url: URL,
  own: Readonly<Record<string, string>>,
): RequestOptions {
  const path = `${url.origin}${url.pathname}${url.search}`;
  return { agent: false, host, hostname: host, port, path, headers: { ...own, host: url.host, ...headers } };
}

/** Options of an https request whose TLS runs inside the byte stream that `dial` gives. */
export function tunnelled(dial: Dial, signal: AbortSignal): RequestOptions {
  return {
    createConnection: (options, created) => {
      // The declared type has no socket to leave out, yet there is none when it could not be opened.
      const ready = created as (failure: Error | null, socket?: Duplex) => void;
      const { host, servername = host } = options as ConnectionOptions;
      dial(signal).then(
        (socket) => {
          const secured = connectTls({ ...(options as ConnectionOptions), socket, ...(servername && { servername }) });
          // Errors from here on are the request's.
          ready(null, secured);
        },
        (failure: Error) => ready(failure),
      );
      return undefined;
    },
  };
}
