import type { Counter, Gauge, MetricRegistry } from "../base/metric-registry.ts";

export interface EnvoyMetrics {
  /** Label: crashed, killed or cannot-execute. */
  readonly failures: Counter;
  readonly restarts: Counter;
  /** Label: success or failure. */
  readonly hotRestarts: Counter;
  readonly startupSeconds: Gauge;
}

export function declareEnvoyMetrics(registry: MetricRegistry): EnvoyMetrics {
  return {
    failures: registry.counter({
      name: "istio_agent_envoy_failures_total",
      help: "Envoy processes that ended by themselves with a failure.",
      labels: ["kind"],
    }),
    restarts: registry.counter({
      name: "istio_agent_envoy_restarts_total",
      help: "Envoy processes started again after a failure.",
    }),
    hotRestarts: registry.counter({
      name: "istio_agent_envoy_hot_restarts_total",
      help: "Hot restarts by outcome.",
      labels: ["result"],
    }),
    startupSeconds: registry.gauge({
      name: "istio_agent_startup_duration_seconds",
      help: "The time from the process starting to being marked ready.",
    }),
  };
}
