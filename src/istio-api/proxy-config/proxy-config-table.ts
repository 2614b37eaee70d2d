import {
  type EnumTable,
  field,
  list,
  type MessageTable,
  map,
  oneof,
  wrapper,
} from "../../protobuf/json-message/message-table.ts";

const mesh = (name: string) => `istio.mesh.v1alpha1.${name}`;

export const TLS_MODE: EnumTable = {
  fullName: "istio.networking.v1alpha3.ClientTLSSettings.TLSmode",
  values: { DISABLE: 0, SIMPLE: 1, MUTUAL: 2, ISTIO_MUTUAL: 3 },
};
export const TRACE_CONTEXT: EnumTable = {
  fullName: mesh("Tracing.OpenCensusAgent.TraceContext"),
  values: { UNSPECIFIED: 0, W3C_TRACE_CONTEXT: 1, GRPC_BIN: 2, CLOUD_TRACE_CONTEXT: 3, B3: 4 },
};
const AUTHENTICATION_POLICY: EnumTable = {
  fullName: mesh("AuthenticationPolicy"),
  values: { NONE: 0, MUTUAL_TLS: 1, INHERIT: 1000 },
};
const INTERCEPTION_MODE: EnumTable = {
  fullName: mesh("ProxyConfig.InboundInterceptionMode"),
  values: { REDIRECT: 0, TPROXY: 1, NONE: 2 },
};
const TRACING_SERVICE_NAME: EnumTable = {
  fullName: mesh("ProxyConfig.TracingServiceName"),
  values: { APP_LABEL_AND_NAMESPACE: 0, CANONICAL_NAME_ONLY: 1, CANONICAL_NAME_AND_NAMESPACE: 2 },
};
const FORWARD_CLIENT_CERT: EnumTable = {
  fullName: mesh("ForwardClientCertDetails"),
  values: { UNDEFINED: 0, SANITIZE: 1, FORWARD_ONLY: 2, APPEND_FORWARD: 3, SANITIZE_SET: 4, ALWAYS_FORWARD_ONLY: 5 },
};
const EXCHANGE_MODE: EnumTable = {
  fullName: mesh("ProxyConfig.ProxyHeaders.MetadataExchangeMode"),
  values: { UNDEFINED: 0, IN_MESH: 1 },
};
const CONNECTION_PROFILE: EnumTable = {
  fullName: mesh("ProxyConfig.ConnectionSettings.Profile"),
  values: { SIDECAR: 0, EDGE: 1 },
};
/** Envoy's names, passed on without a look. */
const UNDERSCORES_ACTION: EnumTable = {
  fullName: mesh("ProxyConfig.ConnectionSettings.HeadersWithUnderscoresAction"),
  values: {
    HEADERS_WITH_UNDERSCORES_UNSPECIFIED: 0,
    HEADERS_WITH_UNDERSCORES_ALLOW: 1,
    HEADERS_WITH_UNDERSCORES_REJECT_REQUEST: 2,
    HEADERS_WITH_UNDERSCORES_DROP_HEADER: 3,
  },
};
const ESCAPED_SLASHES_ACTION: EnumTable = {
  fullName: mesh("ProxyConfig.ConnectionSettings.PathWithEscapedSlashesAction"),
  values: {
    PATH_WITH_ESCAPED_SLASHES_UNSPECIFIED: 0,
    KEEP_UNCHANGED: 1,
    REJECT_REQUEST: 2,
    UNESCAPE_AND_REDIRECT: 3,
    UNESCAPE_AND_FORWARD: 4,
  },
};

const address: MessageTable = { fullName: mesh("Tracing.Zipkin"), fields: [field("address", 1, "string")] };
const disabled: MessageTable = {
  fullName: mesh("ProxyConfig.ProxyHeaders.Disabled"),
  fields: [field("disabled", 1, "bool", wrapper)],
};
const enabled: MessageTable = {
  fullName: mesh("ProxyConfig.ProxyHeaders.Enabled"),
  fields: [field("enabled", 1, "bool", wrapper)],
};
const empty: MessageTable = { fullName: "google.protobuf.Empty", fields: [] };

export const CLIENT_TLS_SETTINGS: MessageTable = {
  fullName: "istio.networking.v1alpha3.ClientTLSSettings",
  fields: [
    field("mode", 1, TLS_MODE),
    field("clientCertificate", 2, "string"),
    field("privateKey", 3, "string"),
    field("caCertificates", 4, "string"),
    field("credentialName", 7, "string"),
    field("subjectAltNames", 5, "string", list),
    field("sni", 6, "string"),
    field("insecureSkipVerify", 8, "bool", wrapper),
    field("caCrl", 9, "string"),
  ],
};

export const TCP_KEEPALIVE: MessageTable = {
  fullName: "istio.networking.v1alpha3.ConnectionPoolSettings.TCPSettings.TcpKeepalive",
  fields: [field("probes", 1, "uint32"), field("time", 2, "duration"), field("interval", 3, "duration")],
};

const REMOTE_SERVICE: MessageTable = {
  fullName: mesh("RemoteService"),
  fields: [
    field("address", 1, "string"),
    field("tlsSettings", 2, CLIENT_TLS_SETTINGS),
    field("tcpKeepalive", 3, TCP_KEEPALIVE),
  ],
};

const named: MessageTable = {
  fullName: mesh("Tracing.NamedTag"),
  fields: [field("name", 1, "string"), field("defaultValue", 2, "string")],
};
const CUSTOM_TAG: MessageTable = {
  fullName: mesh("Tracing.CustomTag"),
  fields: oneof(
    "type",
    field("literal", 1, { fullName: mesh("Tracing.Literal"), fields: [field("value", 1, "string")] }),
    field("environment", 2, named),
    field("header", 3, named),
  ),
};

const TRACING: MessageTable = {
  fullName: mesh("Tracing"),
  fields: [
    ...oneof(
      "tracer",
      field("zipkin", 1, address),
      field("lightstep", 2, {
        fullName: mesh("Tracing.Lightstep"),
        fields: [field("address", 1, "string"), field("accessToken", 2, "string")],
      }),
      field("datadog", 3, address),
      field("stackdriver", 4, {
        fullName: mesh("Tracing.Stackdriver"),
        fields: [
          field("debug", 1, "bool"),
          field("maxNumberOfAttributes", 2, "int64", wrapper),
          field("maxNumberOfAnnotations", 3, "int64", wrapper),
          field("maxNumberOfMessageEvents", 4, "int64", wrapper),
        ],
      }),
      field("openCensusAgent", 9, {
        fullName: mesh("Tracing.OpenCensusAgent"),
        fields: [field("address", 1, "string"), field("context", 2, TRACE_CONTEXT, list)],
      }),
    ),
    field("customTags", 5, CUSTOM_TAG, map),
    field("maxPathTagLength", 6, "uint32"),
    field("sampling", 7, "double"),
    field("tlsSettings", 8, CLIENT_TLS_SETTINGS),
    field("enableIstioTags", 10, "bool", wrapper),
  ],
};

const header: MessageTable = {
  fullName: "istio.networking.v1alpha3.HTTPHeader",
  fields: [field("name", 1, "string"), field("value", 2, "string")],
};
const READINESS_PROBE: MessageTable = {
  fullName: "istio.networking.v1alpha3.ReadinessProbe",
  fields: [
    field("initialDelaySeconds", 2, "int32"),
    field("timeoutSeconds", 3, "int32"),
    field("periodSeconds", 4, "int32"),
    field("successThreshold", 5, "int32"),
    field("failureThreshold", 6, "int32"),
    ...oneof(
      "healthCheckMethod",
      field("httpGet", 7, {
        fullName: "istio.networking.v1alpha3.HTTPHealthCheckConfig",
        fields: [
          field("path", 1, "string"),
          field("port", 2, "uint32"),
          field("host", 3, "string"),
          field("scheme", 4, "string"),
          field("httpHeaders", 5, header, list),
        ],
      }),
      field("tcpSocket", 8, {
        fullName: "istio.networking.v1alpha3.TCPHealthCheckConfig",
        fields: [field("host", 1, "string"), field("port", 2, "uint32")],
      }),
      field("exec", 9, {
        fullName: "istio.networking.v1alpha3.ExecHealthCheckConfig",
        fields: [field("command", 1, "string", list)],
      }),
      field("grpc", 10, {
        fullName: "istio.networking.v1alpha3.GrpcHealthCheckConfig",
        fields: [field("port", 1, "uint32"), field("service", 2, "string")],
      }),
    ),
  ],
};

const accelerator: MessageTable = {
  fullName: mesh("PrivateKeyProvider.CryptoMb"),
  fields: [field("pollDelay", 1, "duration"), field("fallback", 2, "bool", wrapper)],
};

const PROXY_HEADERS: MessageTable = {
  fullName: mesh("ProxyConfig.ProxyHeaders"),
  fields: [
    field("forwardedClientCert", 1, FORWARD_CLIENT_CERT),
    field("setCurrentClientCertDetails", 7, {
      fullName: mesh("ProxyConfig.ProxyHeaders.SetCurrentClientCertDetails"),
      fields: ["subject", "cert", "chain", "dns", "uri"].map((name, index) => field(name, index + 1, "bool", wrapper)),
    }),
    field("requestId", 3, disabled),
    field("server", 2, {
      fullName: mesh("ProxyConfig.ProxyHeaders.Server"),
      fields: [field("disabled", 1, "bool", wrapper), field("value", 2, "string")],
    }),
    field("attemptCount", 4, disabled),
    field("envoyDebugHeaders", 5, disabled),
    field("metadataExchangeHeaders", 6, {
      fullName: mesh("ProxyConfig.ProxyHeaders.MetadataExchangeHeaders"),
      fields: [field("mode", 1, EXCHANGE_MODE)],
    }),
    field("preserveHttp1HeaderCase", 40, "bool", wrapper),
    field("xForwardedHost", 41, enabled),
    field("xForwardedPort", 42, enabled),
  ],
};

const CONNECTION_SETTINGS: MessageTable = {
  fullName: mesh("ProxyConfig.ConnectionSettings"),
  fields: [
    field("profile", 1, CONNECTION_PROFILE),
    field("listenerPerConnectionBufferLimitBytes", 2, "int32", wrapper),
    field("clusterPerConnectionBufferLimitBytes", 3, "int32", wrapper),
    field("httpIdleTimeout", 4, "duration"),
    field("httpMaxConnectionDuration", 5, "duration"),
    field("httpDrainTimeout", 6, "duration"),
    field("httpRequestTimeout", 7, "duration"),
    field("httpRequestHeadersTimeout", 8, "duration"),
    field("httpStreamIdleTimeout", 9, "duration"),
    field("httpMaxStreamDuration", 10, "duration"),
    field("httpMaxConcurrentStreams", 11, "int32", wrapper),
    field("http2InitialStreamWindowSize", 12, "int32", wrapper),
    field("http2InitialConnectionWindowSize", 13, "int32", wrapper),
    field("httpHeadersWithUnderscoresAction", 14, UNDERSCORES_ACTION),
    field("httpMergeSlashes", 15, "bool", wrapper),
    field("httpPathWithEscapedSlashesAction", 16, ESCAPED_SLASHES_ACTION),
    field("listenerConnectionLimit", 17, "int32", wrapper),
    field("globalDownstreamConnectionLimit", 18, "int32", wrapper),
  ],
};

/** istio.mesh.v1alpha1.ProxyConfig in declaration order, which is also the order errors are reported in. */
export const PROXY_CONFIG: MessageTable = {
  fullName: mesh("ProxyConfig"),
  fields: [
    field("configPath", 1, "string"),
    field("binaryPath", 2, "string"),
    ...oneof(
      "clusterName",
      field("serviceCluster", 3, "string"),
      field("tracingServiceName", 36, TRACING_SERVICE_NAME),
    ),
    field("drainDuration", 4, "duration"),
    field("discoveryAddress", 6, "string"),
    field("discoveryRefreshDelay", 7, "duration"),
    field("zipkinAddress", 8, "string"),
    field("statsdUdpAddress", 10, "string"),
    field("envoyMetricsServiceAddress", 20, "string"),
    field("proxyAdminPort", 11, "int32"),
    field("availabilityZone", 12, "string"),
    field("controlPlaneAuthPolicy", 13, AUTHENTICATION_POLICY),
    field("customConfigFile", 14, "string"),
    field("statNameLength", 15, "int32"),
    field("concurrency", 16, "int32", wrapper),
    field("proxyBootstrapTemplatePath", 17, "string"),
    field("interceptionMode", 18, INTERCEPTION_MODE),
    field("tracing", 19, TRACING),
    field("sds", 21, {
      fullName: mesh("SDS"),
      fields: [field("enabled", 1, "bool"), field("k8sSaJwtPath", 2, "string")],
    }),
    field("envoyAccessLogService", 22, REMOTE_SERVICE),
    field("envoyMetricsService", 23, REMOTE_SERVICE),
    field("proxyMetadata", 24, "string", map),
    field("runtimeValues", 37, "string", map),
    field("statusPort", 26, "int32"),
    field("extraStatTags", 27, "string", list),
    field("gatewayTopology", 28, {
      fullName: mesh("Topology"),
      fields: [
        field("numTrustedProxies", 1, "uint32"),
        field("forwardClientCertDetails", 2, FORWARD_CLIENT_CERT),
        field("proxyProtocol", 3, empty),
      ],
    }),
    field("terminationDrainDuration", 29, "duration"),
    field("meshId", 30, "string"),
    field("readinessProbe", 31, READINESS_PROBE),
    field("proxyStatsMatcher", 32, {
      fullName: mesh("ProxyConfig.ProxyStatsMatcher"),
      fields: [
        field("inclusionPrefixes", 1, "string", list),
        field("inclusionSuffixes", 2, "string", list),
        field("inclusionRegexps", 3, "string", list),
      ],
    }),
    field("holdApplicationUntilProxyStarts", 33, "bool", wrapper),
    field("caCertificatesPem", 34, "string", list),
    field("image", 35, { fullName: "istio.networking.v1beta1.ProxyImage", fields: [field("imageType", 1, "string")] }),
    field("privateKeyProvider", 38, {
      fullName: mesh("PrivateKeyProvider"),
      fields: oneof("provider", field("cryptomb", 2, accelerator), field("qat", 3, accelerator)),
    }),
    field("proxyHeaders", 39, PROXY_HEADERS),
    field("fileFlushInterval", 40, "duration"),
    field("fileFlushMinSizeKb", 41, "uint32"),
    field("statsCompression", 42, "bool", wrapper),
    field("connectionSettings", 43, CONNECTION_SETTINGS),
  ],
};

/** Generations up to 1.7 know one field more. */
export const LEGACY_PROXY_CONFIG: MessageTable = {
  ...PROXY_CONFIG,
  fields: [...PROXY_CONFIG.fields, field("parentShutdownDuration", 5, "duration")],
};
