import type { Counter, MetricRegistry } from "../../base/metric-registry.ts";

export interface WebhookMetrics {
  readonly validationPassed: Counter;
  readonly validationFailed: Counter;
  readonly validationHttpErrors: Counter;
  readonly patchAttempts: Counter;
  readonly patchRetries: Counter;
  readonly patchFailures: Counter;
}

export function declareWebhookMetrics(registry: MetricRegistry): WebhookMetrics {
  const resource = ["group", "version", "resource"];
  return {
    validationPassed: registry.counter({
      name: "galley_validation_passed",
      help: "Rule objects that were found valid.",
      labels: resource,
    }),
    validationFailed: registry.counter({
      name: "galley_validation_failed",
      help: "Rule objects that were refused, by reason.",
      labels: [...resource, "reason"],
    }),
    validationHttpErrors: registry.counter({
      name: "galley_validation_http_error",
      help: "Requests for a validation that did not come to one.",
      labels: ["status"],
    }),
    patchAttempts: registry.counter({
      name: "webhook_patch_attempts_total",
      help: "Writes to webhook configurations that were tried, by the ending of their entries where it matters.",
      labels: ["name"],
    }),
    patchRetries: registry.counter({
      name: "webhook_patch_retries_total",
      help: "Writes to webhook configurations that were tried again.",
      labels: ["name"],
    }),
    patchFailures: registry.counter({
      name: "webhook_patch_failures_total",
      help: "Webhook configurations that could not be written, by reason.",
      labels: ["name", "reason"],
    }),
  };
}
