/** An object of the mesh that something was made from. */
export interface Origin {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The part of it that is meant: `spec.endpoints[2]`. */
  readonly path?: readonly (string | number)[];
  /** Where it stands, of objects of files. */
  readonly file?: string;
  readonly line?: number;
  /** The cluster that has it, and which state of it counts where that is known, of objects of clusters. */
  readonly cluster?: string;
  readonly resourceVersion?: string;
  /** The object that counts instead of this one. */
  readonly overruledBy?: string;
}

/** A part of a proxy's configuration, for which its origin can be asked. */
export type Subject =
  | { readonly kind: "name"; readonly host: string }
  | { readonly kind: "listener"; readonly name: string }
  | { readonly kind: "inbound-port"; readonly port: number }
  | { readonly kind: "virtual-host"; readonly routes: string; readonly name: string }
  | { readonly kind: "route"; readonly routes: string; readonly host: string; readonly index: number }
  | { readonly kind: "cluster"; readonly name: string }
  /** The port of a path is 0. */
  | { readonly kind: "endpoint"; readonly cluster: string; readonly address: string; readonly port: number }
  /** An entry of an RBAC filter. */
  | { readonly kind: "access-policy"; readonly name: string }
  /** The access policies of the proxy of one action, where none of them matched. */
  | { readonly kind: "access-policies"; readonly action: "ALLOW" | "DENY" | "CUSTOM" }
  | { readonly kind: "token-rule"; readonly issuer: string }
  /** Who may connect without TLS. */
  | { readonly kind: "peer-authentication"; readonly port: number };

/** One thing that a proxy finds or does on the way of a request. */
export interface Decision {
  /** The proxy that decides: `default/web-1`. */
  readonly proxy: string;
  /** What kind of decision: `listener`, `route`, `authorization`. */
  readonly step: string;
  readonly text: string;
  readonly origins: readonly Origin[];
}

export type OutcomeKind =
  /** It arrives: at an application, or where nothing of the mesh is known any more. */
  | "endpoint"
  | "passthrough"
  /** A proxy answers. */
  | "direct-response"
  | "redirect"
  | "aborted"
  | "denied"
  | "unauthenticated"
  | "rejected"
  | "no-route"
  | "no-cluster"
  | "no-endpoints"
  | "connection-failed"
  | "connection-closed";

export interface Outcome {
  readonly kind: OutcomeKind;
  /** What the client reads, of answers of proxies to HTTP; an application's own answer is not known. */
  readonly status?: number;
  /** Response flags in the access log of the client's proxy. */
  readonly flags: readonly string[];
  /** Addresses of applications or of what is outside. */
  readonly endpoints: readonly string[];
  /** The cluster of the client's proxy that the request was for, if it came so far. */
  readonly cluster?: string;
  readonly text: string;
}

/** One way that the request can take. */
export interface Branch<Value> {
  /** How many of all requests take it, 0 to 1. */
  readonly share: number;
  readonly decisions: readonly Decision[];
  readonly value: Value;
}

export function only<Value>(value: Value, ...decisions: readonly Decision[]): readonly Branch<Value>[] {
  return [{ share: 1, decisions, value }];
}

/** Goes on with every branch. */
export function follow<From, To>(
  branches: readonly Branch<From>[],
  next: (value: From) => readonly Branch<To>[],
): readonly Branch<To>[] {
  return branches.flatMap(({ share, decisions, value }) =>
    next(value).map((branch) => ({
      share: share * branch.share,
      decisions: [...decisions, ...branch.decisions],
      value: branch.value,
    })),
  );
}
