import type { RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect as connectTls } from "node:tls";

/** The way to "host:port" through somebody else; undefined when it is reached directly. */
export type Tunnel = (target: string) => ((signal: AbortSignal) => Promise<Duplex>) | undefined;

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
