import type { HttpRetries } from "../specs.ts";
import { statusReason } from "./http-action.ts";
import type { Report } from "./report.ts";
import { durationReason } from "./values.ts";

/** Conditions of Envoy's router, for HTTP and for gRPC. */
const CONDITIONS = new Set([
  "5xx",
  "gateway-error",
  "reset",
  "reset-before-request",
  "connect-failure",
  "envoy-ratelimited",
  "retriable-4xx",
  "refused-stream",
  "retriable-status-codes",
  "retriable-headers",
  "http3-post-connect-failure",
  "cancelled",
  "deadline-exceeded",
  "internal",
  "resource-exhausted",
  "unavailable",
]);

export function validateRetries(report: Report, retries: HttpRetries): void {
  const { attempts, perTryTimeout, retryOn, retryRemoteLocalities, backoff } = retries;
  if (attempts < 0) report.error("attempts cannot be negative", "attempts");
  const isConfigured = perTryTimeout !== undefined || retryOn !== "" || retryRemoteLocalities !== undefined;
  if (attempts === 0 && isConfigured) {
    report.error("http retry policy configured when attempts are set to 0 (disabled)", "attempts");
  }
  report.error(durationReason(perTryTimeout), "perTryTimeout");
  report.error(durationReason(backoff), "backoff");
  for (const condition of retryOn === "" ? [] : retryOn.split(",").map((word) => word.trim())) {
    const isStatus = /^\d+$/.test(condition) && statusReason(Number(condition)) === undefined;
    if (!isStatus && !CONDITIONS.has(condition)) {
      report.error(`${JSON.stringify(condition)} is not a valid retryOn policy`, "retryOn");
    }
  }
}
