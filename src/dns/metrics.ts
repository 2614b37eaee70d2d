import type { Counter, Histogram, MetricRegistry } from "../base/metric-registry.ts";

export interface DnsMetrics {
  readonly requests: Counter;
  readonly upstreamRequests: Counter;
  readonly upstreamFailures: Counter;
  readonly upstreamSeconds: Histogram;
}

export function declareDnsMetrics(registry: MetricRegistry): DnsMetrics {
  return {
    requests: registry.counter({ name: "istio_agent_dns_requests_total", help: "Total number of DNS requests." }),
    upstreamRequests: registry.counter({
      name: "istio_agent_dns_upstream_requests_total",
      help: "Total number of DNS requests forwarded to upstream.",
    }),
    upstreamFailures: registry.counter({
      name: "istio_agent_dns_upstream_failures_total",
      help: "Total number of DNS requests that no upstream answered.",
    }),
    upstreamSeconds: registry.histogram({
      name: "istio_agent_dns_upstream_request_duration_seconds",
      help: "Total time in seconds Istio takes to get DNS response from upstream.",
      buckets: [0.001, 0.005, 0.01, 0.1, 1, 5],
    }),
  };
}
