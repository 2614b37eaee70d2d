import type { Counter, MetricRegistry } from "../../base/metric-registry.ts";

/** What releases 1.7 and 1.8 counted. */
export interface LegacySdsMetrics {
  readonly pushes: Counter;
  readonly pushErrors: Counter;
  /** Goes down again when a stream ends, though its type is a counter. */
  readonly activeConnections: Counter;
  readonly staleConnections: Counter;
  readonly secretUpdateFailures: Counter;
}

export function declareLegacySdsMetrics(registry: MetricRegistry): LegacySdsMetrics {
  const counter = (name: string, help: string) => registry.counter({ name: `istio_agent_${name}`, help });
  return {
    pushes: counter("total_pushes", "The total number of secret pushes to SDS proxies."),
    pushErrors: counter("total_push_errors", "The total number of failed secret pushes to SDS proxies."),
    activeConnections: counter("total_active_connections", "The total number of active SDS connections."),
    staleConnections: counter("total_stale_connections", "The total number of stale SDS connections."),
    secretUpdateFailures: counter(
      "total_secret_update_failures",
      "The total number of dynamic secret update failures.",
    ),
  };
}
