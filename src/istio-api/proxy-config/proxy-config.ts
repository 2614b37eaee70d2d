/**
 * istio.mesh.v1alpha1.ProxyConfig in proto3 JSON form: camelCase names, enums by name, wrappers bare, absent = unset. Unknown fields
 * are dropped by the reader that fills this type.
 */
export interface ProxyConfig {
  readonly configPath?: string;
  readonly binaryPath?: string;
  /** At most one of `serviceCluster` and `tracingServiceName` is set (oneof clusterName). */
  readonly serviceCluster?: string;
  readonly tracingServiceName?: TracingServiceName;
  readonly drainDuration?: ProtoDuration;
  /** Generations up to 1.9. */
  readonly parentShutdownDuration?: ProtoDuration;
  readonly discoveryAddress?: string;
  readonly discoveryRefreshDelay?: ProtoDuration;
  readonly zipkinAddress?: string;
  readonly statsdUdpAddress?: string;
  readonly proxyAdminPort?: number;
  readonly availabilityZone?: string;
  readonly controlPlaneAuthPolicy?: AuthenticationPolicy;
  readonly customConfigFile?: string;
  readonly statNameLength?: number;
  /** A wrapper: an explicit 0 differs from unset. */
  readonly concurrency?: number;
  readonly proxyBootstrapTemplatePath?: string;
  readonly interceptionMode?: InboundInterceptionMode;
  readonly tracing?: Tracing;
  readonly envoyMetricsServiceAddress?: string;
  readonly sds?: Sds;
  readonly envoyAccessLogService?: RemoteService;
  readonly envoyMetricsService?: RemoteService;
  readonly proxyMetadata?: StringMap;
  readonly statusPort?: number;
  readonly extraStatTags?: readonly string[];
  readonly gatewayTopology?: GatewayTopology;
  readonly terminationDrainDuration?: ProtoDuration;
  readonly meshId?: string;
  readonly readinessProbe?: ReadinessProbe;
  readonly proxyStatsMatcher?: ProxyStatsMatcher;
  readonly holdApplicationUntilProxyStarts?: boolean;
  readonly caCertificatesPem?: readonly string[];
  readonly image?: ProxyImage;
  readonly runtimeValues?: StringMap;
  readonly privateKeyProvider?: PrivateKeyProvider;
  readonly proxyHeaders?: ProxyHeaders;
  readonly fileFlushInterval?: ProtoDuration;
  readonly fileFlushMinSizeKb?: number;
  readonly statsCompression?: boolean;
  readonly connectionSettings?: ConnectionSettings;
}

/** Seconds with 0, 3, 6 or 9 decimals and a final `s`: "45s", "0.500s". */
export type ProtoDuration = string;

/** 64-bit integers are decimal strings in proto3 JSON. */
export type ProtoInt64 = string;

export type StringMap = Readonly<Record<string, string>>;

export type TracingServiceName = "APP_LABEL_AND_NAMESPACE" | "CANONICAL_NAME_ONLY" | "CANONICAL_NAME_AND_NAMESPACE";
export type AuthenticationPolicy = "NONE" | "MUTUAL_TLS" | "INHERIT";
export type InboundInterceptionMode = "REDIRECT" | "TPROXY" | "NONE";
export type TlsMode = "DISABLE" | "SIMPLE" | "MUTUAL" | "ISTIO_MUTUAL";
export type TraceContext = "UNSPECIFIED" | "W3C_TRACE_CONTEXT" | "GRPC_BIN" | "CLOUD_TRACE_CONTEXT" | "B3";
export type ForwardClientCertDetails =
  | "UNDEFINED"
  | "SANITIZE"
  | "FORWARD_ONLY"
  | "APPEND_FORWARD"
  | "SANITIZE_SET"
  | "ALWAYS_FORWARD_ONLY";

/** At most one tracer member is set. */
export interface Tracing {
  readonly zipkin?: { readonly address?: string };
  readonly lightstep?: { readonly address?: string; readonly accessToken?: string };
  readonly datadog?: { readonly address?: string };
  readonly stackdriver?: StackdriverTracer;
  readonly openCensusAgent?: { readonly address?: string; readonly context?: readonly TraceContext[] };
  readonly customTags?: Readonly<Record<string, CustomTag>>;
  readonly maxPathTagLength?: number;
  readonly sampling?: number;
  readonly tlsSettings?: ClientTlsSettings;
  readonly enableIstioTags?: boolean;
}

export interface StackdriverTracer {
  readonly debug?: boolean;
  readonly maxNumberOfAttributes?: ProtoInt64;
  readonly maxNumberOfAnnotations?: ProtoInt64;
  readonly maxNumberOfMessageEvents?: ProtoInt64;
}

export interface CustomTag {
  readonly literal?: { readonly value?: string };
  readonly environment?: { readonly name?: string; readonly defaultValue?: string };
  readonly header?: { readonly name?: string; readonly defaultValue?: string };
}

export interface ClientTlsSettings {
  readonly mode?: TlsMode;
  readonly clientCertificate?: string;
  readonly privateKey?: string;
  readonly caCertificates?: string;
  readonly caCrl?: string;
  readonly credentialName?: string;
  readonly subjectAltNames?: readonly string[];
  readonly sni?: string;
  readonly insecureSkipVerify?: boolean;
}

export interface RemoteService {
  readonly address?: string;
  readonly tlsSettings?: ClientTlsSettings;
  readonly tcpKeepalive?: TcpKeepalive;
}

export interface TcpKeepalive {
  readonly probes?: number;
  readonly time?: ProtoDuration;
  readonly interval?: ProtoDuration;
}

export interface Sds {
  readonly enabled?: boolean;
  readonly k8sSaJwtPath?: string;
}

export interface GatewayTopology {
  readonly numTrustedProxies?: number;
  readonly forwardClientCertDetails?: ForwardClientCertDetails;
  readonly proxyProtocol?: Readonly<Record<string, never>>;
}

/** At most one of the four probe kinds is set. */
export interface ReadinessProbe {
  readonly initialDelaySeconds?: number;
  readonly timeoutSeconds?: number;
  readonly periodSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
  readonly httpGet?: HttpProbe;
  readonly tcpSocket?: { readonly port?: number; readonly host?: string };
  readonly exec?: { readonly command?: readonly string[] };
  readonly grpc?: { readonly port?: number; readonly service?: string };
}

export interface HttpProbe {
  readonly path?: string;
  readonly port?: number;
  readonly host?: string;
  readonly scheme?: string;
  readonly httpHeaders?: readonly { readonly name?: string; readonly value?: string }[];
}

export interface ProxyStatsMatcher {
  readonly inclusionPrefixes?: readonly string[];
  readonly inclusionSuffixes?: readonly string[];
  readonly inclusionRegexps?: readonly string[];
}

export interface ProxyImage {
  readonly imageType?: string;
}

export interface PrivateKeyProvider {
  readonly cryptomb?: CryptoAccelerator;
  readonly qat?: CryptoAccelerator;
}

export interface CryptoAccelerator {
  readonly pollDelay?: ProtoDuration;
  readonly fallback?: boolean;
}

export interface ProxyHeaders {
  readonly forwardedClientCert?: ForwardClientCertDetails;
  readonly server?: { readonly disabled?: boolean; readonly value?: string };
  readonly requestId?: { readonly disabled?: boolean };
  readonly attemptCount?: { readonly disabled?: boolean };
  readonly envoyDebugHeaders?: { readonly disabled?: boolean };
  readonly metadataExchangeHeaders?: { readonly mode?: "UNDEFINED" | "IN_MESH" };
  readonly setCurrentClientCertDetails?: SetCurrentClientCertDetails;
  readonly preserveHttp1HeaderCase?: boolean;
  readonly xForwardedHost?: { readonly enabled?: boolean };
  readonly xForwardedPort?: { readonly enabled?: boolean };
}

export interface SetCurrentClientCertDetails {
  readonly subject?: boolean;
  readonly cert?: boolean;
  readonly chain?: boolean;
  readonly dns?: boolean;
  readonly uri?: boolean;
}

/** Every member is a wrapper or a message: absent differs from zero. */
export interface ConnectionSettings {
  readonly profile?: "SIDECAR" | "EDGE";
  readonly listenerPerConnectionBufferLimitBytes?: number;
  readonly clusterPerConnectionBufferLimitBytes?: number;
  readonly httpIdleTimeout?: ProtoDuration;
  readonly httpMaxConnectionDuration?: ProtoDuration;
  readonly httpDrainTimeout?: ProtoDuration;
  readonly httpRequestTimeout?: ProtoDuration;
  readonly httpRequestHeadersTimeout?: ProtoDuration;
  readonly httpStreamIdleTimeout?: ProtoDuration;
  readonly httpMaxStreamDuration?: ProtoDuration;
  readonly httpMaxConcurrentStreams?: number;
  readonly http2InitialStreamWindowSize?: number;
  readonly http2InitialConnectionWindowSize?: number;
  /** Names of Envoy's enum of the same purpose; the numbers are not interpreted by the agent. */
  readonly httpHeadersWithUnderscoresAction?: string;
  readonly httpMergeSlashes?: boolean;
  readonly httpPathWithEscapedSlashesAction?: string;
  readonly listenerConnectionLimit?: number;
  readonly globalDownstreamConnectionLimit?: number;
}
