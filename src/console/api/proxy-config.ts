import type { FilePosition } from "./problems.ts";

/** An object that something was made from. */
export interface Origin {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Where its user has written it, when that is known. */
  readonly source?: FilePosition;
  /** Of objects of clusters: which has it, and its version there. */
  readonly cluster?: string;
  readonly resourceVersion?: string;
  /** The object that counts instead of this one: `VirtualService shop/reviews`. */
  readonly overruledBy?: string;
  /** One of `/api/objects`, which can be opened. */
  readonly isListed: boolean;
}

export interface ClusterState {
  readonly name: string;
  /** Readable: `reviews v2 port 9080`. */
  readonly label: string;
  readonly direction: "outbound" | "inbound" | "agent";
  readonly host?: string;
  readonly port?: number;
  readonly subset?: string;
  readonly type?: string;
  readonly endpoints: readonly EndpointState[];
  readonly origins: readonly Origin[];
}

export interface EndpointState {
  readonly address: string;
  readonly origins: readonly Origin[];
  /** `healthy`, or Envoy's words why not. */
  readonly health: string;
  readonly isHealthy: boolean;
  readonly weight: number;
  readonly locality?: string;
  readonly requests: number;
  readonly errors: number;
  readonly openConnections: number;
}

export interface ListenerState {
  readonly name: string;
  readonly address: string;
  readonly direction: "outbound" | "inbound" | "agent";
  /** Its filter chains in words: `TLS with ALPN istio-peer-exchange -> HTTP, route 9080`. */
  readonly chains: readonly string[];
  readonly origins: readonly Origin[];
  /** Of parts that come from other objects than the whole: `mutual TLS port 9080`. */
  readonly parts: readonly { readonly text: string; readonly origins: readonly Origin[] }[];
  /** Why an update was refused. */
  readonly error?: string;
}

export interface RouteState {
  readonly name: string;
  readonly hosts: readonly VirtualHostState[];
}

export interface VirtualHostState {
  readonly name: string;
  readonly domains: readonly string[];
  /** `GET /api when header end-user is jason -> reviews v2 (80%), reviews v1 (20%); timeout 5s`. */
  readonly rules: readonly { readonly text: string; readonly origins: readonly Origin[] }[];
  readonly origins: readonly Origin[];
}

export interface DnsName {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly registry?: string;
}
