import type { Counter, Gauge, MetricRegistry } from "../base/metric-registry.ts";

export interface XdsProxyMetrics {
  readonly connectionFailures: Counter;
  /** Labels: type = cancelled | error. */
  readonly upstreamTerminations: Counter;
  readonly downstreamTerminations: Counter;
  readonly requests: Counter;
  readonly responses: Counter;
  readonly largestRequest: Gauge;
  /** Streams that are served without a control plane now. */
  readonly lastGoodStreams: Gauge;
}

/** Names as the agent's endpoint shows them, with the reference's prefix. */
export function declareXdsProxyMetrics(registry: MetricRegistry): XdsProxyMetrics {
  const type = ["type"];
  return {
    connectionFailures: registry.counter({
      name: "istio_agent_istiod_connection_failures",
      help: "The total number of connection failures to Istiod",
    }),
    upstreamTerminations: registry.counter({
      name: "istio_agent_istiod_connection_terminations",
      help: "The total number of connection errors to Istiod",
      labels: type,
    }),
    downstreamTerminations: registry.counter({
      name: "istio_agent_envoy_connection_terminations",
      help: "The total number of connection errors from envoy",
      labels: type,
    }),
    requests: registry.counter({
      name: "istio_agent_xds_proxy_requests",
      help: "The total number of Xds Proxy Requests",
    }),
    responses: registry.counter({
      name: "istio_agent_xds_proxy_responses",
      help: "The total number of Xds Proxy Responses",
    }),
    largestRequest: registry.gauge({
      name: "istio_agent_pilot_xds_recv_max",
      help: "The largest request received from a client, in bytes",
    }),
    lastGoodStreams: registry.gauge({
      name: "istio_agent_xds_last_good_streams",
      help: "Streams that are served the last known good configuration because no control plane can be reached",
    }),
  };
}
