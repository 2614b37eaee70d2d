import { posix } from "node:path";
import type { StackdriverTracer, TraceContext, Tracing } from "../../istio-api/proxy-config/proxy-config.ts";
import type { BootstrapValues } from "./bootstrap-values.ts";
import type { JsonObject } from "./json.ts";
import { extension } from "./type-urls.ts";
import { stsService } from "./xds-cluster.ts";

export const LIGHTSTEP_TOKEN_FILE = "lightstep_access_token.txt";

/** Where the Lightstep token is put, beside the bootstrap. */
export function lightstepTokenPath(configPath: string): string {
  return posix.join(configPath, LIGHTSTEP_TOKEN_FILE);
}

/** The tracer that Envoy starts with; other providers come by xDS. */
export function buildTracing(values: BootstrapValues): JsonObject | undefined {
  const http = httpTracer(values);
  return http === undefined ? undefined : { http };
}

function httpTracer(values: BootstrapValues): JsonObject | undefined {
  const { config, tracer, generation, node } = values;
  const old = generation.document.extensionNames === "old";
  switch (tracer?.kind) {
    case "zipkin":
      return extension(old ? "envoy.zipkin" : "envoy.tracers.zipkin", "envoy.config.trace.v3.ZipkinConfig", {
        collector_cluster: "zipkin",
        collector_endpoint: "/api/v2/spans",
        collector_endpoint_version: "HTTP_JSON",
        trace_id_128bit: true,
        shared_span_context: false,
      });
    case "lightstep":
      return extension(old ? "envoy.lightstep" : "envoy.tracers.lightstep", "envoy.config.trace.v3.LightstepConfig", {
        collector_cluster: "lightstep",
        access_token_file: lightstepTokenPath(config.configPath ?? ""),
      });
    case "datadog":
      return extension("envoy.tracers.datadog", "envoy.config.trace.v3.DatadogConfig", {
        collector_cluster: "datadog_agent",
        service_name: node.cluster,
      });
  }
  if (generation.document.tracers !== "with-opencensus" || config.tracing === undefined) return undefined;
  return openCensus(config.tracing, values);
}

const CONTEXTS: Readonly<Partial<Record<TraceContext, string>>> = {
  W3C_TRACE_CONTEXT: "TRACE_CONTEXT",
  GRPC_BIN: "GRPC_TRACE_BIN",
  CLOUD_TRACE_CONTEXT: "CLOUD_TRACE_CONTEXT",
  B3: "B3",
};
const ALL_CONTEXTS = ["TRACE_CONTEXT", "GRPC_TRACE_BIN", "CLOUD_TRACE_CONTEXT", "B3"];
const STACKDRIVER_CONTEXTS = ["CLOUD_TRACE_CONTEXT", "TRACE_CONTEXT", "GRPC_TRACE_BIN", "B3"];

/** Generations 1.8 to 1.20: the OpenCensus tracer, for an agent of its own or for Google's trace service. */
function openCensus({ openCensusAgent, stackdriver }: Tracing, values: BootstrapValues): JsonObject | undefined {
  if (openCensusAgent?.address) {
    const named = (openCensusAgent.context ?? [])
      .map((context) => CONTEXTS[context])
      .filter((name) => name !== undefined);
    return extension("envoy.tracers.opencensus", "envoy.config.trace.v3.OpenCensusConfig", {
      ocagent_exporter_enabled: true,
      ocagent_address: openCensusAgent.address,
      ...contexts(named.length > 0 ? named : ALL_CONTEXTS),
      trace_config: traceConfig({}),
    });
  }
  if (stackdriver === undefined) return undefined;
  return extension("envoy.tracers.opencensus", "envoy.config.trace.v3.OpenCensusConfig", {
    stackdriver_exporter_enabled: true,
    stackdriver_project_id: values.gcpProject,
    ...(values.inputs.agent.stsPort > 0 && { stackdriver_grpc_service: stackdriverService(values) }),
    stdout_exporter_enabled: stackdriver.debug ?? false,
    ...contexts(STACKDRIVER_CONTEXTS),
    trace_config: traceConfig(stackdriver),
  });
}

function contexts(names: readonly string[]): JsonObject {
  return { incoming_trace_context: names, outgoing_trace_context: names };
}

function traceConfig(limits: StackdriverTracer): JsonObject {
  return {
    constant_sampler: { decision: "ALWAYS_PARENT" },
    max_number_of_annotations: Number(limits.maxNumberOfAnnotations ?? 200),
    max_number_of_attributes: Number(limits.maxNumberOfAttributes ?? 200),
    max_number_of_message_events: Number(limits.maxNumberOfMessageEvents ?? 200),
    max_number_of_links: 200,
  };
}

function stackdriverService({ inputs, gcpProject }: BootstrapValues): JsonObject {
  const sts = { ...stsService(inputs.agent.stsPort), scope: "https://www.googleapis.com/auth/cloud-platform" };
  return {
    google_grpc: {
      target_uri: "cloudtrace.googleapis.com",
      stat_prefix: "oc_stackdriver_tracer",
      channel_credentials: { ssl_credentials: {} },
      call_credentials: [{ sts_service: sts }],
    },
    initial_metadata: [{ key: "x-goog-user-project", value: gcpProject }],
  };
}
