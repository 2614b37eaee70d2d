import type { Counter, Gauge, Histogram, MetricRegistry } from "../../base/metric-registry.ts";

export interface AdsMetrics {
  readonly connected: Gauge;
  readonly pushes: Counter;
  readonly pushTime: Histogram;
  readonly sendTime: Histogram;
  readonly configSize: Histogram;
  readonly sentBytes: Counter;
  readonly expiredNonces: Counter;
  readonly rejects: Counter;
  readonly rejectedBy: { readonly [metric: string]: Gauge };
  readonly internalErrors: Counter;
  readonly writeTimeouts: Counter;
  readonly streamsRefused: Counter;
  readonly budgetRefusals: Counter;
}

const SECONDS = [0.01, 0.1, 1, 3, 5, 10, 20, 30];
const BYTES = [1, 10_000, 1_000_000, 4_000_000, 10_000_000, 40_000_000];

export function declareAdsMetrics(registry: MetricRegistry): AdsMetrics {
  const rejectedBy = Object.fromEntries(
    ["cds", "eds", "lds", "rds"].map((type) => [
      type,
      registry.gauge({
        name: `pilot_xds_${type}_reject`,
        help: `Proxies that refused the last ${type.toUpperCase()} answer.`,
        labels: ["node", "err"],
      }),
    ]),
  );
  return {
    rejectedBy,
    connected: registry.gauge({
      name: "pilot_xds",
      help: "Proxies connected, by their version.",
      labels: ["version"],
    }),
    pushes: registry.counter({
      name: "pilot_xds_pushes",
      help: "xDS answers sent, by type; those that could not be sent as TYPE_senderr.",
      labels: ["type"],
    }),
    pushTime: registry.histogram({
      name: "pilot_xds_push_time",
      help: "Seconds to make one answer, by type.",
      labels: ["type"],
      buckets: SECONDS,
    }),
    sendTime: registry.histogram({
      name: "pilot_xds_send_time",
      help: "Seconds until the network took one answer.",
      buckets: SECONDS,
    }),
    configSize: registry.histogram({
      name: "pilot_xds_config_size_bytes",
      help: "Bytes of one answer before compression, by type.",
      labels: ["type"],
      buckets: BYTES,
    }),
    sentBytes: registry.counter({
      name: "pilot_xds_sent_bytes_total",
      help: "Bytes of answers as they were sent, by their encoding.",
      labels: ["encoding"],
    }),
    expiredNonces: registry.counter({
      name: "pilot_xds_expired_nonce",
      help: "Requests that spoke of an answer that was not the last.",
      labels: ["type"],
    }),
    rejects: registry.counter({
      name: "pilot_total_xds_rejects",
      help: "Answers that proxies refused, by type.",
      labels: ["type"],
    }),
    internalErrors: registry.counter({
      name: "pilot_total_xds_internal_errors",
      help: "Answers that could not be made.",
    }),
    writeTimeouts: registry.counter({
      name: "pilot_xds_write_timeout",
      help: "Streams that were ended because their client did not read.",
    }),
    streamsRefused: registry.counter({
      name: "pilot_xds_streams_refused_total",
      help: "Streams that were refused at their start, by status.",
      labels: ["code"],
    }),
    budgetRefusals: registry.counter({
      name: "pilot_xds_identity_limit_refusals_total",
      help: "Streams and subscriptions refused because their identity has too many, by limit (streams, names, bytes).",
      labels: ["limit"],
    }),
  };
}
