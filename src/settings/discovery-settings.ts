import type { Secret } from "../base/secret.ts";
import type { AuthorityOptions, JwtRule } from "../ca/index.ts";
import type { InjectionRules, NativeSidecarMode } from "../inject/index.ts";
import type { ProxyConfigRules } from "../istio-api/proxy-config/proxy-config-rules.ts";

/** Empty host: this machine alone for plaintext xDS, every address for the others. Port 0 takes any free one. */
export interface PortOption {
  readonly host: string;
  readonly port: number;
}

/** Which ports are served; what is left out is not. */
export interface DiscoveryPorts {
  /** `/ready`, `/debug/*`, `/config`; also `/metrics` when there is no monitoring port. */
  readonly http?: PortOption;
  /** xDS without TLS. */
  readonly grpc?: PortOption;
  /** xDS and the certificate authority, over TLS. */
  readonly secureGrpc?: PortOption;
  /** `/metrics`, `/version`, `/debug/*`. */
  readonly monitoring?: PortOption;
  /** Webhooks (`/inject`, `/validate`), over TLS. */
  readonly https?: PortOption;
}

/** What API servers are answered. */
export interface WebhookSettings {
  /** `INJECT_ENABLED`: `/inject` is served. */
  readonly injects: boolean;
  /** Injection config and values, either of them empty where it is built in. Absent: the cluster's ConfigMap, else what is built in. */
  readonly injectionFiles?: { readonly config: string; readonly values: string };
  /** `INJECTION_WEBHOOK_CONFIG_NAME` is not empty: the CA bundle is written to own configurations. */
  readonly patchesInjection: boolean;
  /** `VALIDATION_WEBHOOK_CONFIG_NAME` is not empty: likewise, and the failure policy becomes Fail. */
  readonly patchesValidation: boolean;
  readonly nativeSidecars: NativeSidecarMode;
  readonly isOpenshift: boolean;
  readonly compliancePolicy: string;
  /** For templates that ask. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly rules: InjectionRules;
  readonly proxyConfigRules: ProxyConfigRules;
}

export interface AuthSettings {
  /** `XDS_AUTH`: false asks no client who it is. */
  readonly requiresIdentity: boolean;
  /** `XDS_AUTH_PLAINTEXT`: also clients without TLS must show a token. */
  readonly requiresPlaintextIdentity: boolean;
  /** `PILOT_ENABLE_XDS_IDENTITY_CHECK`. */
  readonly checksIdentity: boolean;
  /** Plaintext xDS also for clients on other machines. */
  readonly allowsRemotePlaintext: boolean;
  /** `ENABLE_DEBUG_ENDPOINT_AUTH`: callers outside the system namespace see only their own kind of pages. */
  readonly limitsDebug: boolean;
  /** `UNSAFE_ENABLE_ADMIN_ENDPOINTS`. */
  readonly allowsAdmin: boolean;
}

export interface LimitSettings {
  /** New streams per second, and how many at once; 0 follows the number of processors. */
  readonly streamsPerSecond: number;
  readonly maxConcurrentStreams: number;
  readonly maxReceiveBytes: number;
  /** A client that does not read what it is sent for so long is sent away; 0: never. */
  readonly sendTimeoutMs: number;
  /** Of all streams of one identity, or of one address where there is no identity; 0: no limit. */
  readonly maxStreamsPerIdentity: number;
  readonly maxNamesPerIdentity: number;
  readonly maxNameBytesPerIdentity: number;
}

export interface ServingFiles {
  readonly certificate: string;
  readonly key: string;
  /** Roots for client certificates, besides those of the own CA. */
  readonly ca: string;
}

export interface PushSettings {
  /** `PILOT_DEBOUNCE_AFTER`: quiet time before a push. */
  readonly debounceAfterMs: number;
  /** `PILOT_DEBOUNCE_MAX`: a push comes after this time however busy it is. */
  readonly debounceMaxMs: number;
  /** `PILOT_ENABLE_EDS_DEBOUNCE`: false pushes changes of endpoints alone at once. */
  readonly debouncesEndpoints: boolean;
  /** `PILOT_PUSH_THROTTLE`. */
  readonly concurrency: number;
}

/** Workloads that announce themselves by their streams. */
export interface WorkloadEntrySettings {
  /** `PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION`. */
  readonly registers: boolean;
  /** `PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS`. */
  readonly takesHealth: boolean;
  /** `PILOT_WORKLOAD_ENTRY_VALIDATE_IDENTITY`: the stream must prove to be of the entry's namespace and account. */
  readonly validatesIdentity: boolean;
  /** `PILOT_WORKLOAD_ENTRY_GRACE_PERIOD`: from the end of its last stream to the end of a registered entry. */
  readonly graceMs: number;
}

/** How Consul is reached; names of variables are those of Consul's own commands. */
export interface ConsulSettings {
  readonly url: string;
  readonly token?: Secret;
  /** Read again when it changes; wins over `token`. */
  readonly tokenFile?: string;
  readonly tlsFiles?: { readonly ca?: string; readonly certificate?: string; readonly key?: string };
  readonly serverName?: string;
  /** Empty: that of the agent alone. */
  readonly datacenters: readonly string[];
  readonly namespace?: string;
  /** Keys below it are rule objects; none are read when absent. */
  readonly rulesPrefix?: string;
}

/** What the control plane is in its cluster. */
export interface ClusterIdentitySettings {
  /** Secrets of the self-signed root, in the order in which they are read; made under the last name. */
  readonly caSecrets: readonly [string, ...string[]];
  /** `USE_REMOTE_CERTS`: the CA of Secret `cacerts` is copied into the CA's directory, unless there is one. */
  readonly copiesCa?: boolean;
  /** `TOKEN_AUDIENCES`: a token must be for one of them. */
  readonly tokenAudiences: readonly string[];
  /** `PILOT_CA_CERT_CONFIGMAP`: the roots of the mesh in every namespace. */
  readonly rootConfigMap: string;
  /** `CA_TRUSTED_NODE_ACCOUNTS`, `namespace/name`: accounts that may ask for identities of pods on their own node. */
  readonly nodeAccounts?: readonly string[];
}

/** Other clusters of the mesh, whose kubeconfigs are in Secrets. */
export interface RemoteClusterSettings {
  /** Where the Secrets are; the control plane's own namespace when absent. */
  readonly secretNamespace?: string;
  /** `PILOT_REMOTE_CLUSTER_TIMEOUT`: how long a start waits for them; 0: for as long as they take. */
  readonly timeoutMs: number;
  /** `PILOT_REMOTE_CLUSTER_STALE_PERIOD`: how long endpoints stay while their API server is away; 0: for as long as that takes. */
  readonly staleMs: number;
  /** `PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS`: exec, tokenFile, clientCertificate, clientKey. */
  readonly allowedOptions: readonly string[];
}

/** How the API server of a cluster is found. */
export interface KubernetesSettings {
  /** `PILOT_ENABLE_STATUS`: what is found in rule objects is written to their status, and as Events. */
  readonly writesStatus?: boolean;
  readonly identity?: ClusterIdentitySettings;
  readonly remote?: RemoteClusterSettings;
  /** Empty: the pod's own cluster, else what KUBECONFIG and the home folder have. */
  readonly kubeconfig: string;
  /** Names kubeconfig files and the pod's cluster; credential plugins get it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** What flags and environment say about the control plane. */
export interface DiscoverySettings {
  readonly ports: DiscoveryPorts;
  /** xDS without TLS also on the HTTP port (HTTP/2 with prior knowledge), for the same clients as on a port of its own. */
  readonly sharesHttpPort?: boolean;
  /** Rule objects; none without. */
  readonly configDir?: string;
  /** Services of Consul's catalog. */
  readonly consul?: ConsulSettings;
  /** A cluster whose services, rules and mesh config are read; none without. */
  readonly kubernetes?: KubernetesSettings;
  /** A missing file means defaults; a file that appears or changes later counts. */
  readonly meshConfigFile?: string;
  /** Networks of the mesh and their gateways; as with the mesh config. */
  readonly networksConfigFile?: string;
  /** `SHARED_MESH_CONFIG`: a ConfigMap of the user's, underneath the mesh config of file or cluster. */
  readonly sharedMeshConfig?: string;
  /** `PILOT_ENABLE_QUIC_LISTENERS`: gateways offer HTTP/3 beside HTTPS. */
  readonly quicListeners?: boolean;
  /** `PILOT_ENABLE_PERSISTENT_SESSION_FILTER`: clients of services with sessions are held at one endpoint. */
  readonly persistentSessions?: boolean;
  readonly domainSuffix?: string;
  readonly clusterId?: string;
  readonly clusterAliases?: ReadonlyMap<string, string>;
  /** Of the control plane itself. */
  readonly systemNamespace?: string;
  readonly revision?: string;
  readonly podName?: string;
  /** A plugged-in CA, or where the self-signed root is created once and stored. */
  readonly caDirectory: string;
  readonly ca?: Pick<AuthorityOptions, "ttl" | "selfSigned" | "allowsSeveralRoots">;
  /** Names of the serving certificate besides the usual ones. */
  readonly hosts?: readonly string[];
  readonly servingFiles?: ServingFiles;
  readonly tlsMinVersion?: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL's list; without it the suites are those of the TLS library. */
  readonly tlsCiphers?: string;
  /** Address ranges of gateways that are trusted about who their clients are. */
  readonly trustedGateways?: readonly string[];
  /** Issuers of tokens, besides the development issuer in the CA's directory. */
  readonly jwtRules?: readonly JwtRule[];
  readonly push?: Partial<PushSettings>;
  readonly auth?: Partial<AuthSettings>;
  readonly limits?: Partial<LimitSettings>;
  readonly workloadEntries?: WorkloadEntrySettings;
  readonly keepalive?: { readonly intervalMs: number; readonly timeoutMs: number };
  /** Streams are ended after this time, so that clients spread over servers again; absent: never. */
  readonly maxConnectionAgeMs?: number;
  /** Time for running streams when the server is stopped; 10 s. */
  readonly shutdownMs?: number;
  readonly debugOverHttp?: boolean;
  /** Served on the port `https`; needed where that is there. */
  readonly webhooks?: WebhookSettings;
}

/** What flags and environment say about webhooks that run alone. */
export interface InjectorSettings
  extends Pick<
    DiscoverySettings,
    "kubernetes" | "clusterId" | "servingFiles" | "caDirectory" | "ca" | "hosts" | "sharedMeshConfig"
  > {
  readonly ports: { readonly https: PortOption; readonly monitoring?: PortOption };
  readonly webhooks: WebhookSettings;
  /** Watched; missing means defaults, or the cluster's ConfigMap. */
  readonly meshConfigFile?: string;
  readonly domainSuffix: string;
  readonly systemNamespace: string;
  readonly revision: string;
  /** Time for reviews under way when the server is stopped. */
  readonly shutdownMs: number;
}
