import type { ProxyConfig, StringMap } from "../istio-api/proxy-config/proxy-config.ts";
import type { BootstrapRules } from "./core/generations.ts";

/** Everything the node descriptor and the documents are made of. `agent/` fills it from `settings/`; nothing here is read from the machine later. */
export interface BootstrapInputs {
  readonly rules: BootstrapRules;
  /** `type~ip~name.namespace~domain`, of the first address. */
  readonly nodeId: string;
  /** In order of preference, duplicates allowed. */
  readonly nodeIps: readonly string[];
  /** Effective, in proto3 JSON form: a plain field at its zero value is absent, at every depth. */
  readonly proxyConfig: ProxyConfig;
  /** The environment that metadata generation sees. */
  readonly env: StringMap;
  /** Raw text of the downward API's files; null when absent. */
  readonly podLabels: string | null;
  readonly podAnnotations: string | null;
  readonly platform: PlatformFacts;
  readonly agent: AgentFacts;
  readonly features: BootstrapFeatures;
}

export interface Locality {
  readonly region?: string;
  readonly zone?: string;
  readonly sub_zone?: string;
}

export interface PlatformFacts {
  readonly metadata: StringMap;
  readonly locality: Locality;
  /** Instance labels, used outside Kubernetes only. */
  readonly labels: StringMap;
  readonly isKubernetes: boolean;
}

/** Options of the agent that show up in the metadata or the document. */
export interface AgentFacts {
  readonly version: string;
  /** See `pilotSubjectAltNames`. */
  readonly pilotSubjectAltNames: readonly string[];
  /** The CA file that direct connections to the control plane are checked with; "" when there is none. */
  readonly xdsRootCert: string;
  readonly stsPort: number;
  readonly outlierLogPath: string;
  readonly envoyPrometheusPort: number;
  readonly envoyStatusPort: number;
  readonly envoySecureMetricsPort: number;
  readonly envoySecureMergedMetricsPort: number;
  readonly workloadIdentitySocketFile: string;
  readonly exitOnZeroActiveConnections: boolean;
  /** Undefined: as ENABLE_HBONE says. */
  readonly metadataDiscovery: boolean | undefined;
  readonly envoySkipDeprecatedLogs: boolean;
  /** A gRPC server answers on the credential socket. */
  readonly credentialSocketExists: boolean;
  /** A foreign workload SDS socket serves the identities; the agent serves files only. */
  readonly customCredentialsFileExists: boolean;
  readonly compliancePolicy: string;
  readonly logAsJson: boolean;
}

/** Feature variables. */
export interface BootstrapFeatures {
  readonly deltaXds: boolean;
  readonly dualStack: boolean;
  readonly statusPortProxyProtocol: boolean;
  readonly stripFragmentFromPath: boolean;
  /** Generation 1.8: false lets Envoy connect to the control plane itself. Later generations always go through the agent. */
  readonly xdsViaAgent: boolean;
  /** Generation 1.8: Envoy presents a token instead of a certificate. */
  readonly callCredentials: boolean;
}
