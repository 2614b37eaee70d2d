import type { RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls } from "node:tls";

/** How a request travels that does not go straight to its host. */
export type Route =
  /** Through somebody who passes bytes on; for https, whose TLS then is with the host itself. */
  | { readonly kind: "tunnel"; open(signal: AbortSignal): Promise<Duplex> }
  /** To a proxy that makes the request itself; for plain http. */
  | { readonly kind: "proxy"; readonly proxy: HttpProxy };

export interface HttpProxy {
  readonly host: string;
  readonly port: number;
  /** For errors. */
  readonly shown: string;
  /** What the proxy wants to see, and nobody else may. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Undefined: directly. */
export type RouteFor = (url: URL) => Route | undefined;

/** Options of a request that goes to the proxy: it is told the whole address, and the host which one is meant. */
export function forwarded(
  { host, port, headers }: HttpProxy,
  url: URL,
  own: Readonly<Record<string, string>>,
): RequestOptions {
  const path = `${url.origin}${url.pathname}${url.search}`;
  return { agent: false, host, hostname: host, port, path, headers: { ...own, host: url.host, ...headers } };
}

/** Options of an https request whose TLS runs inside the byte stream that `open` gives. */
export function tunnelled(open: (signal: AbortSignal) => Promise<Duplex>, signal: AbortSignal): RequestOptions {
  return {
    createConnection: (options, created) => {
      // The declared type has no socket to leave out, yet there is none when it could not be opened.
      const ready = created as (failure: Error | null, socket?: Duplex) => void;
      const { host, servername = host } = options as ConnectionOptions;
      open(signal).then(
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
