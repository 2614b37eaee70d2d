import type { StackdriverTracer, TraceContext, Tracing } from "../../../istio-api/proxy-config/proxy-config.ts";
import type { BootstrapValues } from "../bootstrap-values.ts";
import type { JsonObject } from "../json.ts";
import { extension } from "../type-urls.ts";
import { stsService } from "../xds-cluster.ts";

const CONTEXTS: Readonly<Partial<Record<TraceContext, string>>> = {
  W3C_TRACE_CONTEXT: "TRACE_CONTEXT",
  GRPC_BIN: "GRPC_TRACE_BIN",
  CLOUD_TRACE_CONTEXT: "CLOUD_TRACE_CONTEXT",
  B3: "B3",
};
const ALL_CONTEXTS = ["TRACE_CONTEXT", "GRPC_TRACE_BIN", "CLOUD_TRACE_CONTEXT", "B3"];
const STACKDRIVER_CONTEXTS = ["CLOUD_TRACE_CONTEXT", "TRACE_CONTEXT", "GRPC_TRACE_BIN", "B3"];

/** Generations 1.8 to 1.20: the OpenCensus tracer, for an agent of its own or for Google's trace service. */
export function openCensusTracer(
  { openCensusAgent, stackdriver }: Tracing,
  values: BootstrapValues,
): JsonObject | undefined {
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
