import type { Counter, Gauge, Histogram, MetricRegistry } from "../base/metric-registry.ts";

export type FetchResult =
  | "success"
  | "download_failure"
  | "manifest_failure"
  | "checksum_mismatched"
  /** What came is not a Wasm module. */
  | "fetch_failure";

export type ConversionResult =
  | "success"
  | "no_remote_load"
  | "marshal_failure"
  | "unmarshal_failure"
  | "fetch_failure"
  | "miss_remote_fetch_hint";

export interface WasmMetrics {
  readonly cacheEntries: Gauge;
  /** Label: hit = true | false. */
  readonly cacheLookups: Counter;
  /** Label: result, a `FetchResult`. */
  readonly fetches: Counter;
  /** Label: result, a `ConversionResult`; one per resource. */
  readonly conversions: Counter;
  /** Milliseconds; one per response. */
  readonly conversionTime: Histogram;
}

/** Names as the agent's endpoint shows them, with the reference's prefix. */
export function declareWasmMetrics(registry: MetricRegistry): WasmMetrics {
  return {
    cacheEntries: registry.gauge({
      name: "istio_agent_wasm_cache_entries",
      help: "number of Wasm remote fetch cache entries.",
    }),
    cacheLookups: registry.counter({
      name: "istio_agent_wasm_cache_lookup_count",
      help: "number of Wasm remote fetch cache lookups.",
      labels: ["hit"],
    }),
    fetches: registry.counter({
      name: "istio_agent_wasm_remote_fetch_count",
      help: "number of Wasm remote fetches and results, including success, download failure, and checksum mismatch.",
      labels: ["result"],
    }),
    conversions: registry.counter({
      name: "istio_agent_wasm_config_conversion_count",
      help: "number of Wasm config conversion count and results, including success, no remote load, marshal failure, remote fetch failure, miss remote fetch hint.",
      labels: ["result"],
    }),
    conversionTime: registry.histogram({
      name: "istio_agent_wasm_config_conversion_duration",
      help: "Total time in milliseconds istio-agent spends on converting remote load in Wasm config.",
      buckets: Array.from({ length: 15 }, (_, power) => 2 ** power),
    }),
  };
}
