import { field, list, type MessageTable, map, oneof, wrapper } from "../../protobuf/json-message/message-table.ts";
import { TRACE_CONTEXT } from "../proxy-config/proxy-config-table.ts";

const message = (name: string, ...fields: MessageTable["fields"]): MessageTable => ({
  fullName: `istio.mesh.v1alpha1.MeshConfig.ExtensionProvider${name}`,
  fields,
});

/** Where a provider runs. */
const SERVICE = [field("service", 1, "string"), field("port", 2, "uint32")];

const REQUEST_BODY = message(
  ".EnvoyExternalAuthorizationRequestBody",
  field("maxRequestBytes", 1, "uint32"),
  field("allowPartialMessage", 2, "bool"),
  field("packAsBytes", 3, "bool"),
);

const EXT_AUTHZ_HTTP = message(
  ".EnvoyExternalAuthorizationHttpProvider",
  ...SERVICE,
  field("timeout", 9, "duration"),
  field("pathPrefix", 3, "string"),
  field("failOpen", 4, "bool"),
  field("clearRouteCache", 14, "bool"),
  field("statusOnError", 5, "string"),
  field("includeHeadersInCheck", 6, "string", list),
  field("includeRequestHeadersInCheck", 10, "string", list),
  field("includeAdditionalHeadersInCheck", 11, "string", map),
  field("includeRequestBodyInCheck", 12, REQUEST_BODY),
  field("headersToUpstreamOnAllow", 7, "string", list),
  field("headersToDownstreamOnDeny", 8, "string", list),
  field("headersToDownstreamOnAllow", 13, "string", list),
);

const EXT_AUTHZ_GRPC = message(
  ".EnvoyExternalAuthorizationGrpcProvider",
  ...SERVICE,
  field("timeout", 5, "duration"),
  field("failOpen", 3, "bool"),
  field("clearRouteCache", 7, "bool"),
  field("statusOnError", 4, "string"),
  field("includeRequestBodyInCheck", 6, REQUEST_BODY),
);

const STACKDRIVER = message(
  ".StackdriverProvider",
  field("debug", 1, "bool"),
  field("maxNumberOfAttributes", 2, "int64", wrapper),
  field("maxNumberOfAnnotations", 3, "int64", wrapper),
  field("maxNumberOfMessageEvents", 4, "int64", wrapper),
  field("maxTagLength", 5, "uint32"),
  field("logging", 6, message(".StackdriverProvider.Logging", field("labels", 1, "string", map))),
);

const LOG_FORMAT = message(
  ".LogFormat",
  ...oneof("logFormat", field("text", 1, "string"), field("labels", 2, "struct")),
);

const HTTP_HEADER = message(
  ".HttpHeader",
  field("name", 1, "string"),
  ...oneof("headerValue", field("value", 2, "string"), field("envName", 3, "string")),
);

const HTTP_SERVICE = message(
  ".HttpService",
  field("path", 1, "string"),
  field("timeout", 2, "duration"),
  field("headers", 3, HTTP_HEADER, list),
);

const DYNATRACE_SAMPLER = message(
  ".OpenTelemetryTracingProvider.DynatraceSampler",
  field("tenant", 1, "string"),
  field("clusterId", 2, "int32"),
  field("rootSpansPerMinute", 3, "uint32"),
  field(
    "httpService",
    4,
    message(".OpenTelemetryTracingProvider.DynatraceSampler.DynatraceApi", ...SERVICE, field("http", 3, HTTP_SERVICE)),
  ),
);

const OPENTELEMETRY = message(
  ".OpenTelemetryTracingProvider",
  ...SERVICE,
  field("maxTagLength", 3, "uint32"),
  field("http", 4, HTTP_SERVICE),
  field(
    "grpc",
    7,
    message(".GrpcService", field("timeout", 1, "duration"), field("initialMetadata", 2, HTTP_HEADER, list)),
  ),
  field(
    "resourceDetectors",
    5,
    message(
      ".ResourceDetectors",
      field("environment", 1, message(".ResourceDetectors.EnvironmentResourceDetector")),
      field("dynatrace", 2, message(".ResourceDetectors.DynatraceResourceDetector")),
    ),
  ),
  field("serviceAttributeEnrichment", 8, {
    fullName: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.ServiceAttributeEnrichment",
    values: { ISTIO_CANONICAL: 0, OTEL_SEMANTIC_CONVENTIONS: 1 },
  }),
  ...oneof("sampling", field("dynatraceSampler", 6, DYNATRACE_SAMPLER)),
);

const PROVIDER_TRACE_CONTEXT = {
  ...TRACE_CONTEXT,
  fullName: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.OpenCensusAgentTracingProvider.TraceContext",
};

const ALS = [
  field("logName", 3, "string"),
  field("filterStateObjectsToLog", 4, "string", list),
  field("additionalRequestHeadersToLog", 5, "string", list),
  field("additionalResponseHeadersToLog", 6, "string", list),
  field("additionalResponseTrailersToLog", 7, "string", list),
];

export const EXTENSION_PROVIDER: MessageTable = message(
  "",
  field("name", 1, "string"),
  ...oneof(
    "provider",
    field("envoyExtAuthzHttp", 2, EXT_AUTHZ_HTTP),
    field("envoyExtAuthzGrpc", 3, EXT_AUTHZ_GRPC),
    field(
      "zipkin",
      4,
      message(
        ".ZipkinTracingProvider",
        ...SERVICE,
        field("maxTagLength", 3, "uint32"),
        field("enable64bitTraceId", 4, "bool", { protoName: "enable_64bit_trace_id" }),
        field("path", 5, "string"),
        field("traceContextOption", 6, {
          fullName: "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.ZipkinTracingProvider.TraceContextOption",
          values: { USE_B3: 0, USE_B3_WITH_W3C_PROPAGATION: 1 },
        }),
        field("timeout", 7, "duration"),
        field("headers", 8, HTTP_HEADER, list),
      ),
    ),
    field(
      "lightstep",
      5,
      message(
        ".LightstepTracingProvider",
        ...SERVICE,
        field("accessToken", 3, "string"),
        field("maxTagLength", 4, "uint32"),
      ),
    ),
    field("datadog", 6, message(".DatadogTracingProvider", ...SERVICE, field("maxTagLength", 3, "uint32"))),
    field("stackdriver", 7, STACKDRIVER),
    field(
      "opencensus",
      8,
      message(
        ".OpenCensusAgentTracingProvider",
        ...SERVICE,
        field("context", 3, PROVIDER_TRACE_CONTEXT, list),
        field("maxTagLength", 4, "uint32"),
      ),
    ),
    field("skywalking", 9, message(".SkyWalkingTracingProvider", ...SERVICE, field("accessToken", 3, "string"))),
    field("opentelemetry", 15, OPENTELEMETRY),
    field("prometheus", 10, message(".PrometheusMetricsProvider")),
    field(
      "envoyFileAccessLog",
      11,
      message(
        ".EnvoyFileAccessLogProvider",
        field("path", 1, "string"),
        field("logFormat", 2, LOG_FORMAT),
        field("omitEmptyValues", 3, "bool"),
      ),
    ),
    field("envoyHttpAls", 12, message(".EnvoyHttpGrpcV3LogProvider", ...SERVICE, ...ALS)),
    field("envoyTcpAls", 13, message(".EnvoyTcpGrpcV3LogProvider", ...SERVICE, ...ALS.slice(0, 2))),
    field(
      "envoyOtelAls",
      14,
      message(
        ".EnvoyOpenTelemetryLogProvider",
        ...SERVICE,
        field("logName", 3, "string"),
        // Text is the body of a record and labels are its attributes, so that both may be given.
        field("logFormat", 4, message(".LogFormat", field("text", 1, "string"), field("labels", 2, "struct"))),
      ),
    ),
    field(
      "sds",
      16,
      message(".SDSProvider", field("name", 1, "string"), field("service", 2, "string"), field("port", 3, "uint32")),
    ),
  ),
);
