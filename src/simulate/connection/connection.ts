import type { HeaderMap } from "../match/headers.ts";

/** What is spoken on a connection, inside of TLS where there is TLS. `silence`: the server is to speak first. */
export type Speech = "http1" | "http2" | "bytes" | "silence";

/** A connection as a listener meets it. */
export interface Connection {
  readonly destination: { readonly address: string | undefined; readonly port: number };
  readonly sourceAddress: string | undefined;
  readonly speaks: Speech;
  readonly tls?: TlsOffer;
}

/** What a client says in its handshake. */
export interface TlsOffer {
  readonly serverName: string | undefined;
  readonly alpn: readonly string[];
  /** SPIFFE name in the client's certificate; undefined: it has none. */
  readonly identity: string | undefined;
  /** Whether the client takes a server with this SPIFFE name; undefined: it does not look at such names. */
  readonly accepts?: (identity: string) => boolean;
}

/** A request on it. */
export interface HttpRequest {
  readonly headers: HeaderMap;
}
