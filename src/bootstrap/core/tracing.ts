import { posix } from "node:path";
import type { BootstrapValues } from "./bootstrap-values.ts";
import { openCensusTracer } from "./compat/opencensus-tracer.ts";
import type { JsonObject } from "./json.ts";
import { extension } from "./type-urls.ts";

const LIGHTSTEP_TOKEN_FILE = "lightstep_access_token.txt";

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
  return openCensusTracer(config.tracing, values);
}
