import type { HttpRequest, Speech, TlsOffer } from "./connection/connection.ts";
import type { Outcome, OutcomeKind } from "./decision.ts";

/** What a proxy does with a connection or a request: it ends there, or goes on to a cluster. */
export type Passage = { readonly ends: Outcome } | { readonly goesTo: Forward };

export interface Forward {
  readonly cluster: string;
  /** What is spoken to the cluster; HTTP of the downstream may change on the way. */
  readonly speaks: Speech;
  /** As it is sent on; undefined for bytes. */
  readonly request?: HttpRequest;
  /** TLS of the client that passes through, because the proxy did not end it. */
  readonly tls?: TlsOffer;
  /** Response flags that the way so far leaves in the access log. */
  readonly flags: readonly string[];
  /** A failed connection is tried again. */
  readonly retriesConnecting: boolean;
  /** The status for a cluster that does not exist. Undefined: the proxy looks at connections alone and answers none of them. */
  readonly missingStatus?: number;
}

export function ending(kind: OutcomeKind, text: string, more: Partial<Outcome> = {}): { readonly ends: Outcome } {
  return { ends: { kind, text, flags: [], endpoints: [], ...more } };
}
