import type { Locality } from "../locality.ts";
import type { NodeListening } from "./read-listening.ts";

export type InterceptionMode = "REDIRECT" | "TPROXY" | "NONE";

/** Files that replace the agent's certificates at a proxy. */
export interface NodeTlsFiles {
  readonly certificateChain: string;
  readonly privateKey: string;
  readonly rootCertificate: string;
}

/** One connected proxy as its first request describes it; validated, never changes. */
export interface ProxyNode {
  /** `TYPE~IP~ID~DOMAIN`, as sent. */
  readonly nodeId: string;
  readonly type: "sidecar" | "router";
  /** The third part of the node id. */
  readonly id: string;
  /** At least one; the first is the primary one. */
  readonly addresses: readonly string[];
  readonly ipv4: boolean;
  readonly ipv6: boolean;
  readonly dnsDomain: string;
  /** Of the proxy's workload: which rules it sees. */
  readonly namespace: string;
  /** What it is called in spans, `web.prod`; empty: not said. */
  readonly serviceCluster: string;
  readonly serviceAccount: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly locality: Locality;
  readonly clusterId: string;
  readonly network: string;
  readonly interception: InterceptionMode;
  /** Metadata GENERATOR: empty for Envoy, `grpc` for proxyless clients. */
  readonly generator: string;
  /** The agent answers DNS for the workload. */
  readonly dnsCapture: boolean;
  /** Services without address are given one for this proxy. */
  readonly dnsAutoAllocate: boolean;
  /** 0: none. */
  readonly httpProxyPort: number;
  /** It may not bind ports below 1024. */
  readonly unprivileged: boolean;
  readonly listening: NodeListening;
  /** Empty: endpoints of all networks are shown to it. */
  readonly networkView: readonly string[];
  /** Of its own proxy configuration; undefined: the mesh's default. */
  readonly preservesHeaderCase?: boolean;
  readonly clientTls?: NodeTlsFiles;
  readonly serverTls?: NodeTlsFiles;
  readonly istioVersion: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}
