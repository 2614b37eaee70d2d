import type { TelemetryMetrics } from "../../istio-api/specs.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import { defaultProviders, type TelemetryLayer } from "../../mesh-model/telemetry.ts";
import { isFor, type ReportingMode, type Said, speaker } from "./said.ts";

/** Metrics by the names that the API gives them. */
export const METRICS = {
  REQUEST_COUNT: "istio_requests_total",
  REQUEST_DURATION: "istio_request_duration_milliseconds",
  REQUEST_SIZE: "istio_request_bytes",
  RESPONSE_SIZE: "istio_response_bytes",
  TCP_OPENED_CONNECTIONS: "istio_tcp_connections_opened_total",
  TCP_CLOSED_CONNECTIONS: "istio_tcp_connections_closed_total",
  TCP_SENT_BYTES: "istio_tcp_sent_bytes_total",
  TCP_RECEIVED_BYTES: "istio_tcp_received_bytes_total",
  GRPC_REQUEST_MESSAGES: "istio_request_messages_total",
  GRPC_RESPONSE_MESSAGES: "istio_response_messages_total",
} as const;

export type Metric = keyof typeof METRICS;
export const METRIC_NAMES = Object.keys(METRICS) as readonly Metric[];

/** What overrides make of one metric. */
export interface MetricChoice {
  readonly isDisabled: boolean;
  /** Tags by name: an expression that gives the value, or undefined where the tag is taken away. */
  readonly tags: ReadonlyMap<string, string | undefined>;
}

export interface ResolvedMetrics {
  /** Names of providers; empty: no object asks for metrics. */
  readonly providers: readonly string[];
  readonly metrics: ReadonlyMap<Metric, MetricChoice>;
  readonly said: readonly Said[];
  /** What an object asks for and cannot be had. */
  readonly problems: readonly string[];
}

/** Outer layers first: an inner one replaces the providers, and goes on with the overrides, metric by metric and tag by tag. */
export function resolveMetrics(
  mode: ReportingMode,
  layers: readonly TelemetryLayer[],
  { source }: Pick<MeshSettings, "source">,
): ResolvedMetrics {
  let providers = defaultProviders(source, "metrics");
  const said: Said[] = [];
  const problems: string[] = [];
  const choices = new Map<Metric, MetricChoice>(METRIC_NAMES.map((metric) => [metric, UNCHANGED]));
  if (providers.length > 0) {
    const by = { level: "mesh settings" as const, path: ["defaultProviders", "metrics"] };
    said.push({ subject: "provider", value: providers.join(", "), by });
  }
  for (const layer of layers) {
    layer.object.spec.metrics.forEach((entry, at) => {
      if (entry.providers.length > 0) {
        providers = entry.providers.map(({ name }) => name);
        said.push({ subject: "provider", value: providers.join(", "), by: speaker(layer, "metrics", at, "providers") });
      }
      if (entry.reportingInterval !== undefined) problems.push(`${labelOf(layer)}: ${NO_INTERVAL}`);
      entry.overrides.forEach((override, index) => {
        if (!isFor(mode, override.match)) return;
        const custom = override.match?.customMetric;
        if (custom !== undefined && custom !== "") {
          problems.push(`${labelOf(layer)}: there is no metric ${custom}: Envoy counts the standard ones`);
          return;
        }
        const path = ["metrics", at, "overrides", index] as const;
        for (const metric of metricsOf(override)) {
          choices.set(metric, overridden(choices.get(metric) ?? UNCHANGED, override));
          say(said, METRICS[metric], override, (member) => speaker(layer, ...path, member));
        }
      });
    });
  }
  return { providers, metrics: choices, said, problems };
}

const UNCHANGED: MetricChoice = { isDisabled: false, tags: new Map() };
const NO_INTERVAL =
  "metrics.reportingInterval has no effect: requests are counted when they end, bytes of TCP connections when those are closed";

type Override = TelemetryMetrics["overrides"][number];

function metricsOf({ match }: Override): readonly Metric[] {
  const metric = match?.metric ?? "ALL_METRICS";
  return metric === "ALL_METRICS" ? METRIC_NAMES : [metric];
}

function overridden({ isDisabled, tags }: MetricChoice, { disabled, tagOverrides }: Override): MetricChoice {
  const changed = Object.entries(tagOverrides).map(
    ([name, { operation, value }]) => [name, operation === "REMOVE" ? undefined : value] as const,
  );
  return {
    isDisabled: disabled ?? isDisabled,
    tags: changed.length === 0 ? tags : new Map([...tags, ...changed]),
  };
}

function say(
  said: Said[],
  metric: string,
  { disabled, tagOverrides }: Override,
  by: (member: string) => Said["by"],
): void {
  if (disabled !== undefined) said.push({ subject: metric, value: disabled ? "off" : "on", by: by("disabled") });
  for (const [tag, { operation, value }] of Object.entries(tagOverrides)) {
    const what = operation === "REMOVE" ? "removed" : `= ${value}`;
    said.push({ subject: `${metric}, tag ${tag}`, value: what, by: by("tagOverrides") });
  }
}

function labelOf({ object: { namespace, name } }: TelemetryLayer): string {
  return `Telemetry ${namespace}/${name}`;
}
