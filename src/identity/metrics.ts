import type { Counter, MetricRegistry } from "../base/metric-registry.ts";

export interface IdentityMetrics {
  /** One per CSR, however many attempts it takes. Label: request_type. */
  readonly outgoingRequests: Counter;
  readonly failedOutgoingRequests: Counter;
  readonly outgoingRetries: Counter;
  /** Sum of milliseconds. */
  readonly outgoingLatency: Counter;
  readonly fileWatcherFailures: Counter;
  readonly fileSecretFailures: Counter;
  /** Where `cert_expiry_seconds` reads at each scrape; undefined hides the series. */
  setExpirySource(read: () => number | undefined): void;
}

export function declareIdentityMetrics(registry: MetricRegistry): IdentityMetrics {
  const byRequest = { labels: ["request_type"] };
  let readExpiry: () => number | undefined = () => undefined;
  registry.gaugeOf(
    {
      name: "istio_agent_cert_expiry_seconds",
      help: "The time remaining, in seconds, before the certificate chain will expire. A negative value indicates the cert is expired.",
      labels: ["resource_name"],
    },
    () => readExpiry(),
    ["default"],
  );
  return {
    outgoingRequests: registry.counter({
      name: "istio_agent_num_outgoing_requests",
      help: "Number of total outgoing requests (e.g. to a token exchange server, CA, etc.)",
      ...byRequest,
    }),
    failedOutgoingRequests: registry.counter({
      name: "istio_agent_num_failed_outgoing_requests",
      help: "Number of failed outgoing requests (e.g. to a token exchange server, CA, etc.)",
      ...byRequest,
    }),
    outgoingRetries: registry.counter({
      name: "istio_agent_num_outgoing_retries",
      help: "Number of outgoing retry requests (e.g. to a token exchange server, CA, etc.)",
      ...byRequest,
    }),
    outgoingLatency: registry.counter({
      name: "istio_agent_outgoing_latency",
      help: "The latency of outgoing requests (e.g. to a token exchange server, CA, etc.) in milliseconds.",
      ...byRequest,
    }),
    fileWatcherFailures: registry.counter({
      name: "istio_agent_num_file_watcher_failures_total",
      help: "Number of times the file watcher failed to add watchers",
    }),
    fileSecretFailures: registry.counter({
      name: "istio_agent_num_file_secret_failures_total",
      help: "Number of times secret generation failed for files",
    }),
    setExpirySource: (read) => {
      readExpiry = read;
    },
  };
}
