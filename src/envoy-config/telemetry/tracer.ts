import type { ExtensionProvider } from "../../istio-api/mesh-config/mesh-config.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { GrpcService, HttpService, TypedExtensionConfig } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { Tracing_Http } from "../../protobuf/gen/envoy/config/trace/v3.ts";
import type { ProviderServer } from "../shared/cluster-name.ts";

export interface Tracer {
  readonly http: Tracing_Http;
  /** Of tags with paths; 0: not said. */
  readonly maxTagLength: number;
  /** Every proxy has a span for the request that comes and one for the call that goes out. */
  readonly spansCalls?: boolean;
}

/** Kinds of the API that Envoy has no tracer for. */
const MISSING: Readonly<Record<string, string>> = {
  lightstep: "Envoy has no Lightstep tracer any more; Lightstep takes OpenTelemetry",
  opencensus: "Envoy has no OpenCensus tracer any more; use an OpenTelemetry provider",
  stackdriver: "Envoy has no Stackdriver tracer; Google Cloud takes OpenTelemetry",
};

/** The tracer of a provider; a text says why there is none. `serviceName` is what the proxy is called among the spans. */
export function buildTracer(
  provider: ExtensionProvider,
  serviceName: string,
  find: (service: string, port: number) => ProviderServer | string,
): Tracer | string {
  const [missing] = Object.keys(provider).filter((kind) => Object.hasOwn(MISSING, kind));
  if (missing !== undefined) return MISSING[missing] ?? "";
  const { zipkin, opentelemetry, datadog, skywalking } = provider;
  const settings = zipkin ?? opentelemetry ?? datadog ?? skywalking;
  if (settings === undefined) return "it is not a provider of spans";
  const { service = "", port = 0 } = settings;
  const server = find(service, port);
  if (typeof server === "string") return server;
  if (zipkin !== undefined) return { http: zipkinTracer(zipkin, server), maxTagLength: zipkin.maxTagLength ?? 0 };
  if (opentelemetry !== undefined) {
    return { http: otelTracer(opentelemetry, server, serviceName), maxTagLength: opentelemetry.maxTagLength ?? 0 };
  }
  if (datadog !== undefined) {
    return { http: datadogTracer(server, serviceName), maxTagLength: datadog.maxTagLength ?? 0 };
  }
  // It joins segments by the span of the call that goes out.
  return { http: skywalkingTracer(skywalking?.accessToken ?? "", server), maxTagLength: 0, spansCalls: true };
}

type Zipkin = NonNullable<ExtensionProvider["zipkin"]>;

function zipkinTracer(
  { path, enable64bitTraceId, traceContextOption, timeout, headers = [] }: Zipkin,
  server: ProviderServer,
): Tracing_Http {
  const endpoint = path || "/api/v2/spans";
  // Only the newer form has room for headers and a timeout.
  const collector =
    headers.length > 0 || timeout !== undefined
      ? { collectorService: httpService(server, endpoint, timeout ?? "5s", headers) }
      : { collectorCluster: server.cluster, collectorEndpoint: endpoint, collectorHostname: server.host };
  return {
    name: "envoy.tracers.zipkin",
    typedConfig: pack("envoy.config.trace.v3.ZipkinConfig", {
      ...collector,
      collectorEndpointVersion: "HTTP_JSON",
      traceId128bit: enable64bitTraceId !== true,
      // Caller and callee have spans of their own.
      sharedSpanContext: false,
      ...(traceContextOption === "USE_B3_WITH_W3C_PROPAGATION" && { traceContextOption }),
    }),
  };
}

type OpenTelemetry = NonNullable<ExtensionProvider["opentelemetry"]>;

function otelTracer(provider: OpenTelemetry, server: ProviderServer, serviceName: string): Tracing_Http {
  const { http, grpc, resourceDetectors = {}, dynatraceSampler } = provider;
  const exporter =
    http === undefined
      ? { grpcService: grpcService(server, grpc) }
      : { httpService: httpService(server, http.path ?? "", http.timeout ?? "3s", http.headers ?? []) };
  const detectors = [
    ...(resourceDetectors.environment ? [ENVIRONMENT_DETECTOR] : []),
    ...(resourceDetectors.dynatrace ? [DYNATRACE_DETECTOR] : []),
  ];
  // The conventions name a service by its own attributes, which the environment carries.
  const isEnriched = provider.serviceAttributeEnrichment === "OTEL_SEMANTIC_CONVENTIONS";
  const sampler = dynatraceSampler && dynatrace(dynatraceSampler, server);
  return {
    name: "envoy.tracers.opentelemetry",
    typedConfig: pack("envoy.config.trace.v3.OpenTelemetryConfig", {
      ...exporter,
      ...(!isEnriched && { serviceName }),
      ...(detectors.length > 0 && { resourceDetectors: detectors }),
      ...(sampler && { sampler }),
    }),
  };
}

function dynatrace(
  { tenant, clusterId, rootSpansPerMinute }: NonNullable<OpenTelemetry["dynatraceSampler"]>,
  server: ProviderServer,
): TypedExtensionConfig {
  return {
    name: "envoy.tracers.opentelemetry.samplers.dynatrace",
    typedConfig: pack("envoy.extensions.tracers.opentelemetry.samplers.v3.DynatraceSamplerConfig", {
      tenant,
      clusterId,
      rootSpansPerMinute,
      httpService: httpService(server, "/api/v2/samplingConfiguration", "10s", []),
    }),
  };
}

const ENVIRONMENT_DETECTOR: TypedExtensionConfig = {
  name: "envoy.tracers.opentelemetry.resource_detectors.environment",
  typedConfig: pack(
    "envoy.extensions.tracers.opentelemetry.resource_detectors.v3.EnvironmentResourceDetectorConfig",
    {},
  ),
};
const DYNATRACE_DETECTOR: TypedExtensionConfig = {
  name: "envoy.tracers.opentelemetry.resource_detectors.dynatrace",
  typedConfig: pack("envoy.extensions.tracers.opentelemetry.resource_detectors.v3.DynatraceResourceDetectorConfig", {}),
};

function datadogTracer({ cluster, host }: ProviderServer, serviceName: string): Tracing_Http {
  return {
    name: "envoy.tracers.datadog",
    typedConfig: pack("envoy.config.trace.v3.DatadogConfig", {
      collectorCluster: cluster,
      collectorHostname: host,
      serviceName,
    }),
  };
}

/** Names of service and instance are those of the node, which Envoy fills in. */
function skywalkingTracer(backendToken: string, server: ProviderServer): Tracing_Http {
  return {
    name: "envoy.tracers.skywalking",
    typedConfig: pack("envoy.config.trace.v3.SkyWalkingConfig", {
      grpcService: grpcService(server),
      ...(backendToken !== "" && { clientConfig: { backendToken } }),
    }),
  };
}

function grpcService({ cluster, host }: ProviderServer, settings: OpenTelemetry["grpc"] = {}): GrpcService {
  const { timeout, initialMetadata = [] } = settings;
  return {
    envoyGrpc: { clusterName: cluster, authority: host },
    ...(timeout !== undefined && { timeout }),
    ...(initialMetadata.length > 0 && { initialMetadata: initialMetadata.map(headerOf) }),
  };
}

type ProviderHeader = NonNullable<NonNullable<OpenTelemetry["http"]>["headers"]>[number];

function httpService(
  { cluster, host, port }: ProviderServer,
  path: string,
  timeout: string,
  headers: readonly ProviderHeader[],
): HttpService {
  return {
    httpUri: { uri: `http://${host}:${port}${path}`, cluster, timeout },
    ...(headers.length > 0 && { requestHeadersToAdd: headers.map((header) => ({ header: headerOf(header) })) }),
  };
}

/** A value by the name of a variable is read by the proxy, where it can stay secret. */
function headerOf({ name = "", value, envName }: ProviderHeader): { readonly key: string; readonly value: string } {
  return { key: name, value: envName ? `%ENVIRONMENT(${envName})%` : (value ?? "") };
}
