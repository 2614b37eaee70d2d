import type { Counter, Histogram, MetricRegistry } from "../base/metric-registry.ts";

export interface SdsMetrics {
  /** Answers the client could not use. Label: type. */
  readonly rejects: Counter;
  /** Requests that answer something older than the last reply. Label: type. */
  readonly expiredNonces: Counter;
  readonly internalErrors: Counter;
  readonly writeTimeouts: Counter;
  /** Seconds until the client's window took an answer. */
  readonly sendTime: Histogram;
}

export const SDS_LABEL: readonly string[] = ["sds"];

export function declareSdsMetrics(registry: MetricRegistry): SdsMetrics {
  return {
    rejects: registry.counter({
      name: "istio_agent_pilot_total_xds_rejects",
      help: "Total number of XDS responses from pilot rejected by proxy.",
      labels: ["type"],
    }),
    expiredNonces: registry.counter({
      name: "istio_agent_pilot_xds_expired_nonce",
      help: "Total number of XDS requests with an expired nonce.",
      labels: ["type"],
    }),
    internalErrors: registry.counter({
      name: "istio_agent_pilot_total_xds_internal_errors",
      help: "Total number of internal XDS errors in pilot.",
    }),
    writeTimeouts: registry.counter({
      name: "istio_agent_pilot_xds_write_timeout",
      help: "Pilot XDS response write timeouts.",
    }),
    sendTime: registry.histogram({
      name: "istio_agent_pilot_xds_send_time",
      help: "Total time in seconds Pilot takes to send generated configuration.",
      buckets: [0.01, 0.1, 1, 3, 5, 10, 20, 30],
    }),
  };
}
