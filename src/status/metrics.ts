import type { MetricRegistry } from "../base/metric-registry.ts";

export type ScrapeMetrics = ReturnType<typeof declareScrapeMetrics>;

export function declareScrapeMetrics(registry: MetricRegistry) {
  return {
    scrapes: registry.counter({
      name: "istio_agent_scrapes_total",
      help: "The total number of scrapes.",
    }),
    failures: registry.counter({
      name: "istio_agent_scrape_failures_total",
      help: "The total number of failed scrapes, by the part that failed.",
      labels: ["type"],
    }),
    dropped: registry.counter({
      name: "istio_agent_scrape_dropped_total",
      help: "What merged scrapes left out to stay valid: repeated families, repeated series, lines that are not metrics.",
      labels: ["type", "what"],
    }),
    exports: registry.counter({
      name: "istio_agent_otlp_exports_total",
      help: "The total number of exports of the merged metrics to a collector, by result.",
      labels: ["result"],
    }),
  };
}
