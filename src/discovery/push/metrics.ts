import type { Counter, Gauge, Histogram, MetricRegistry } from "../../base/metric-registry.ts";

export interface PushMetrics {
  readonly inboundUpdates: Counter;
  readonly pushTriggers: Counter;
  readonly debounceTime: Histogram;
  readonly snapshotTime: Histogram;
  readonly queueTime: Histogram;
  readonly convergenceTime: Histogram;
  readonly repeatedHosts: Gauge;
  readonly repeatedSubsets: Gauge;
}

const SECONDS = [0.01, 0.1, 0.5, 1, 3, 5, 10, 20, 30];

export function declarePushMetrics(registry: MetricRegistry): PushMetrics {
  const seconds = (name: string, help: string, buckets: readonly number[] = SECONDS) =>
    registry.histogram({ name, help, buckets });
  return {
    inboundUpdates: registry.counter({
      name: "pilot_inbound_updates",
      help: "Changes heard of, by what changed.",
      labels: ["type"],
    }),
    pushTriggers: registry.counter({
      name: "pilot_push_triggers",
      help: "What led to pushes; one push may follow from many, each counts.",
      labels: ["type"],
    }),
    debounceTime: seconds("pilot_debounce_time", "Seconds from the first change of a burst to its push."),
    snapshotTime: seconds("pilot_pushcontext_init_seconds", "Seconds to make a snapshot of the mesh."),
    queueTime: seconds("pilot_proxy_queue_time", "Seconds a proxy waited for its turn."),
    convergenceTime: seconds(
      "pilot_proxy_convergence_time",
      "Seconds from a change until a proxy was sent what follows from it.",
      [0.1, 0.5, 1, 3, 5, 10, 20, 30],
    ),
    repeatedHosts: registry.gauge({
      name: "pilot_vservice_dup_domain",
      help: "Hosts of VirtualServices that another, older one has already.",
    }),
    repeatedSubsets: registry.gauge({
      name: "pilot_destrule_subsets",
      help: "Subsets of DestinationRules that another, older one for the host has already.",
    }),
  };
}
