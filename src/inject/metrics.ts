import type { Counter, Histogram, MetricRegistry } from "../base/metric-registry.ts";

export interface InjectionMetrics {
  readonly requests: Counter;
  /** Pods that got a proxy. */
  readonly success: Counter;
  /** By what went wrong. */
  readonly failure: Counter;
  /** By the rule that decided. */
  readonly skip: Counter;
  readonly seconds: Histogram;
}

const SECONDS = [0.1, 1, 3, 5, 10, 20, 30, 60];

/** Names of the reference; its counters have no reasons. */
export function declareInjectionMetrics(registry: MetricRegistry): InjectionMetrics {
  const counter = (name: string, help: string, labels: readonly string[] = []) =>
    registry.counter({ name: `sidecar_injection_${name}`, help, labels });
  return {
    requests: counter("requests_total", "Reviews of pods."),
    success: counter("success_total", "Pods that got a proxy."),
    failure: counter("failure_total", "Pods that were refused because they could not be injected.", ["reason"]),
    skip: counter("skip_total", "Pods that were left as they are, by the rule that decided.", ["reason"]),
    seconds: registry.histogram({
      name: "sidecar_injection_time_seconds",
      help: "Time of an injection.",
      buckets: SECONDS,
    }),
  };
}
