import type { BootstrapValues } from "./bootstrap-values.ts";
import type { JsonObject } from "./json.ts";
import { EXTRA_TAGS } from "./stats-tags.ts";
import { extension } from "./type-urls.ts";

/** stats_config: which statistics Envoy keeps and how their names become labels. */
export function buildStatsConfig(values: BootstrapValues): JsonObject {
  const { stats, generation, metadataDiscovery } = values;
  const rules = generation.document;
  const extra = stats.extraTags.map((tag) => ({ tag_name: tag, regex: `(${tag}=\\.=(.*?);\\.;)` }));
  const prefix = (text: string) => ({ prefix: text });
  const regex = (text: string) =>
    rules.regexPattern === "safe_regex" ? { safe_regex: { regex: text } } : { regex: text };
  return {
    use_all_default_tags: false,
    stats_tags: rules.statsTags.flatMap((tag) => (tag === EXTRA_TAGS ? extra : [{ tag_name: tag[0], regex: tag[1] }])),
    ...(stats.histogramBuckets.length > 0 && {
      histogram_bucket_settings: stats.histogramBuckets.map(({ prefix: name, buckets }) => ({
        match: { prefix: name },
        buckets,
      })),
    }),
    stats_matcher: {
      inclusion_list: {
        patterns: [
          prefix("reporter="),
          ...(metadataDiscovery ? [prefix("workload_discovery")] : []),
          ...stats.prefixes.map(prefix),
          ...stats.suffixes.map((suffix) => ({ suffix })),
          ...stats.regexes.map(regex),
          ...rules.lastPrefixes.map(prefix),
        ],
      },
    },
  };
}

/** stats_sinks; empty when nothing is sent. */
export function buildStatsSinks({ metricsService, statsd, generation }: BootstrapValues): readonly JsonObject[] {
  const old = generation.document.extensionNames === "old";
  const grpc = { grpc_service: { envoy_grpc: { cluster_name: "envoy_metrics_service" } } };
  const metricsType = "envoy.config.metrics.v3.MetricsServiceConfig";
  const sinks: JsonObject[] = [];
  if (metricsService !== undefined) {
    sinks.push(
      old
        ? { name: "envoy.metrics_service", config: grpc }
        : extension("envoy.stat_sinks.metrics_service", metricsType, { transport_api_version: "V3", ...grpc }),
    );
  }
  if (statsd !== undefined) {
    const address = { address: { socket_address: statsd } };
    sinks.push(
      old
        ? { name: "envoy.statsd", config: address }
        : extension("envoy.stat_sinks.statsd", "envoy.config.metrics.v3.StatsdSink", address),
    );
  }
  return sinks;
}
