import type { ClusterState, DnsName, ListenerState, RouteState } from "./proxy-config.ts";

export interface WorkloadSummary {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly service?: string;
  readonly version?: string;
  readonly kind: "sidecar" | "gateway" | "proxyless";
  readonly address?: string;
  readonly ready: boolean;
  readonly reasons: readonly string[];
  /** Processes that are supervised from here; absent where they are not. */
  readonly app?: PartState;
  readonly agent?: PartState;
  readonly envoy?: PartState;
}

export interface PartState {
  readonly phase: "running" | "waiting" | "crash-loop" | "stopped" | "unknown";
  readonly pid?: number;
  readonly sinceAt?: number;
  readonly reason?: string;
  readonly restarts: number;
}

export interface RestartRecord {
  readonly at: number;
  readonly part: "app" | "agent" | "envoy";
  /** `ended by SIGKILL`, `exit code 1`. */
  readonly reason: string;
}

/** What cannot be had now is absent, and `missing` says why. */
export interface WorkloadDetail extends WorkloadSummary {
  readonly at: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly serviceAccount?: string;
  /** SPIFFE ID. */
  readonly identity?: string;
  readonly ports: readonly { readonly name: string; readonly port: number }[];
  readonly agentVersion?: string;
  readonly envoyState?: EnvoyState;
  /** Newest first. */
  readonly restarts: readonly RestartRecord[];
  readonly certificates?: CertificateState;
  readonly xds?: XdsState;
  readonly clusters?: readonly ClusterState[];
  readonly listeners?: readonly ListenerState[];
  readonly routes?: readonly RouteState[];
  readonly dns?: readonly DnsName[];
  /** In words, one rule each; empty when nothing is captured. */
  readonly capture?: readonly string[];
  readonly missing: Readonly<Partial<Record<DetailPart, string>>>;
}

export type DetailPart =
  | "envoyState"
  | "certificates"
  | "xds"
  | "clusters"
  | "listeners"
  | "routes"
  | "origins"
  | "dns"
  | "capture";

export interface EnvoyState {
  /** `LIVE`, `DRAINING`, `PRE_INITIALIZING`, `INITIALIZING`. */
  readonly state: string;
  readonly version: string;
  readonly upMs: number;
  readonly hotRestartEpoch?: number;
  readonly concurrency?: number;
  readonly allocatedBytes?: number;
  readonly openConnections?: number;
}

export interface CertificateState {
  /** The workload's, leaf first. Never a key. */
  readonly chain: readonly Certificate[];
  readonly roots: readonly Certificate[];
  /** When the next one is asked for. */
  readonly rotationAt?: number;
  readonly phase: "available" | "initializing" | "unavailable";
  /** Of the CA or of the files, newest first, also those that are over; at most some ten. */
  readonly errors: readonly CertificateError[];
}

/** Requests that failed in a row for one reason. */
export interface CertificateError {
  /** The last time, and the first. */
  readonly at: number;
  readonly sinceAt: number;
  readonly count: number;
  readonly message: string;
  /** No request has succeeded since. */
  readonly isCurrent: boolean;
}

export interface Certificate {
  readonly subject: string;
  readonly issuer: string;
  /** SPIFFE IDs and host names. */
  readonly names: readonly string[];
  readonly serial: string;
  readonly notBeforeAt: number;
  readonly notAfterAt: number;
  /** SHA-256, in hexadecimal. */
  readonly fingerprint: string;
}

export interface XdsState {
  readonly connected: boolean;
  readonly upstream?: string;
  readonly connectedAt?: number;
  /** Why it is not connected, or what the last connection ended with. */
  readonly lastError?: string;
  readonly types: readonly XdsTypeState[];
}

export interface XdsTypeState {
  /** `CDS`, `LDS`, `RDS`, `EDS`, `SDS`, `ECDS`, `NDS`, `PCDS`. */
  readonly type: string;
  readonly typeUrl: string;
  readonly version?: string;
  readonly resources?: number;
  readonly state: "acked" | "nacked" | "sent" | "none";
  /** What Envoy said when it refused. */
  readonly nackText?: string;
  readonly changedAt?: number;
}
