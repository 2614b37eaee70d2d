import type { Counter, Gauge, MetricRegistry } from "../base/metric-registry.ts";

/** All by cluster, and by resource: plural and group. */
export interface KubernetesMetrics {
  readonly objects: Gauge;
  readonly lastProof: Gauge;
  readonly events: Counter;
  readonly lists: Counter;
  readonly failures: Counter;
  readonly differences: Counter;
}

export function declareKubernetesMetrics(registry: MetricRegistry): KubernetesMetrics {
  return {
    objects: registry.gauge({
      name: "kubernetes_reflector_objects",
      help: "Objects in the copy of a kind.",
      labels: ["cluster", "resource"],
    }),
    lastProof: registry.gauge({
      name: "kubernetes_reflector_last_proof_timestamp_seconds",
      help: "When the API server last showed that the copy of a kind is complete: by a bookmark, a list or a comparison.",
      labels: ["cluster", "resource"],
    }),
    events: registry.counter({
      name: "kubernetes_reflector_events_total",
      help: "Events of watches, by their type.",
      labels: ["cluster", "resource", "type"],
    }),
    lists: registry.counter({
      name: "kubernetes_reflector_lists_total",
      help: "Complete reads of a kind: paged lists, streamed lists and comparisons.",
      labels: ["cluster", "resource", "how"],
    }),
    failures: registry.counter({
      name: "kubernetes_reflector_failures_total",
      help: "Lists and watches that failed, by the code of the error.",
      labels: ["cluster", "resource", "code"],
    }),
    differences: registry.counter({
      name: "kubernetes_reflector_differences_total",
      help: "Objects that a comparison with the API server found missing, outdated or left over, and repaired.",
      labels: ["cluster", "resource", "kind"],
    }),
  };
}
