export type NodeKind = "service" | "version" | "workload" | "external" | "gateway" | "proxyless" | "unknown";

/**
 * A thing that calls or is called. A `service` node is drawn around its `version` nodes, which name it as `parent`; the ids of
 * workloads are in `workloads`. Edges lead from callers (a version; the service of workloads without one; a workload that belongs
 * to no service) to what was called (a version where rules name one, else the service; an external host). Callers outside the mesh are one
 * `unknown` node, and hosts that no rule knows one `external` node.
 */
export interface GraphNode {
  /** Stays the same while the thing is there, and when it comes back. */
  readonly id: string;
  readonly kind: NodeKind;
  /** Short: `reviews`, `v2`, `api.example.com`. */
  readonly label: string;
  readonly namespace: string;
  readonly parent?: string;
  /** Host name of the service: `reviews.shop.svc.cluster.local`. */
  readonly host?: string;
  readonly service?: string;
  readonly version?: string;
  /** Workloads behind it: ids for `/api/workloads/{id}`. */
  readonly workloads: readonly string[];
  /** How many of them are ready. */
  readonly ready: number;
  /** Why not all are; empty when all are. */
  readonly reasons: readonly string[];
  readonly protocol?: "http" | "http2" | "grpc" | "tcp";
  /** Reached from outside the mesh. */
  readonly entry?: boolean;
  /** Of a service: which versions it has, in order. What `shift` may name. */
  readonly versions?: readonly string[];
  /** SPIFFE IDs of its workloads. */
  readonly identities?: readonly string[];
}

export interface GraphEdge {
  readonly id: string;
  /** Node ids. */
  readonly from: string;
  readonly to: string;
  readonly protocol: "http" | "tcp";
  readonly port?: number;
  /** Requests per second in the window; 0 for TCP. */
  readonly rps: number;
  /** 5xx and requests that never got an answer; 4xx are apart. */
  readonly errorShare: number;
  readonly clientErrorShare: number;
  /** Requests that a fault rule answered, which are part of the errors, or delayed. */
  readonly faultShare: number;
  /** Absent when nothing was measured in the window. */
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** New connections per second, open ones, and what they carry, for TCP and HTTP alike. */
  readonly connectionsPerSecond: number;
  readonly openConnections: number;
  readonly sentBytesPerSecond: number;
  readonly receivedBytesPerSecond: number;
  /** Connections whose handshake was mutual TLS, of the newest ones; absent when there was none yet. From Envoy's counters. */
  readonly mtlsShare?: number;
  /** Requests that were sent again, and those that circuit breakers refused, per second. */
  readonly retriesPerSecond: number;
  readonly overflowsPerSecond: number;
  /** Of a service with versions: what rules send there, 0 to 100; absent where no rule decides. */
  readonly weight?: number;
}

export interface GraphSnapshot {
  readonly at: number;
  /** What rates and shares are taken over. */
  readonly windowMs: number;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Workloads whose figures are missing now, and why: their edges are those of `at`. */
  readonly stale: readonly StaleWorkload[];
}

export interface StaleWorkload {
  readonly workload: string;
  /** Of the last figures; absent when there were none. */
  readonly at?: number;
  readonly reason: string;
}

/**
 * `GET /api/history`: what pages have seen in the last ten minutes. While no page was open nothing was asked, so there are gaps.
 * `frames[i].values[j]` belongs to `edges[j]`; null where the edge was not there.
 */
export interface GraphHistory {
  readonly fromAt: number;
  readonly toAt: number;
  readonly nodes: readonly GraphNode[];
  /** Without figures. */
  readonly edges: readonly Pick<GraphEdge, "id" | "from" | "to" | "protocol" | "port">[];
  /** Names of the numbers in `values[j]`, in order. */
  readonly columns: readonly HistoryColumn[];
  readonly frames: readonly HistoryFrame[];
  /** What happened meanwhile, oldest first. */
  readonly marks: readonly HistoryMark[];
}

export type HistoryColumn =
  | "rps"
  | "errorShare"
  | "clientErrorShare"
  | "faultShare"
  | "p50Ms"
  | "p99Ms"
  | "sentBytesPerSecond"
  | "receivedBytesPerSecond"
  | "mtlsShare"
  | "openConnections";

export interface HistoryFrame {
  readonly at: number;
  readonly values: readonly ((number | null)[] | null)[];
}

/** For the line of time: an action, a restart, a control plane that went. */
export interface HistoryMark {
  readonly at: number;
  readonly text: string;
  readonly kind: "action" | "undo" | "restart" | "control-plane" | "problem";
}
