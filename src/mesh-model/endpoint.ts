import type { Locality } from "./locality.ts";
import type { Service, ServicePort } from "./service.ts";

/** `Unknown` is what a ServiceEntry gives: without a health check. It counts as healthy. */
export type EndpointHealth = "Unknown" | "Healthy" | "UnHealthy" | "Draining" | "Terminating";

/** Annotation of a WorkloadEntry that a workload registered itself with: the name of its WorkloadGroup. */
export const AUTO_REGISTRATION_GROUP = "istio.io/autoRegistrationGroup";

export const TLS_MODE_LABEL = "security.istio.io/tlsMode";

/** One address that serves one port of one service. */
export interface Endpoint {
  /** The first is the primary one. A path is a unix socket, a name is resolved by the proxy. */
  readonly addresses: readonly string[];
  readonly servicePortName: string;
  /** 0 for a unix socket. */
  readonly port: number;
  readonly labels: Readonly<Record<string, string>>;
  /** SPIFFE name, empty when the workload has no identity. */
  readonly serviceAccount: string;
  readonly network: string;
  readonly locality: Locality;
  readonly clusterId: string;
  /** 0: not given, which counts as 1. */
  readonly weight: number;
  readonly tlsMode: "istio" | "disabled";
  readonly namespace: string;
  readonly workloadName: string;
  readonly hostName?: string;
  readonly subDomain?: string;
  readonly nodeName?: string;
  readonly health: EndpointHealth;
}

/** What a proxy itself serves. */
export interface ServiceTarget {
  readonly service: Service;
  readonly port: ServicePort;
  readonly targetPort: number;
  readonly endpoint: Endpoint;
}
