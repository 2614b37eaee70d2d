import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MetricRegistry } from "../base/metric-registry.ts";
import { declareDnsMetrics } from "./metrics.ts";
import type { MetricsReport } from "./thread-messages.ts";
import { addReport, createThreadMetrics } from "./thread-metrics.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const record = () => {
  const reports: MetricsReport[] = [];
  return { reports, ...createThreadMetrics((report) => reports.push(report)) };
};

test("many queries make one report, and each is reported once", () => {
  const { reports, metrics } = record();
  for (let query = 0; query < 1_000; query++) metrics.requests.inc();
  metrics.upstreamRequests.inc();
  metrics.upstreamSeconds.observe(0.25);
  vi.advanceTimersByTime(1_000);
  metrics.upstreamFailures.inc();
  vi.advanceTimersByTime(1_000);
  expect(reports).toEqual([
    { requests: 1_000, upstreamRequests: 1, upstreamFailures: 0, upstreamSeconds: [0.25] },
    { requests: 0, upstreamRequests: 0, upstreamFailures: 1, upstreamSeconds: [] },
  ]);
});

test("without queries nothing is reported and no timer runs", () => {
  const { reports, stop } = record();
  expect(vi.getTimerCount()).toBe(0);
  stop();
  expect(reports).toEqual([]);
});

test("stopping reports the rest at once", () => {
  const { reports, metrics, stop } = record();
  metrics.requests.inc();
  stop();
  expect(reports).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

test("reports add up in the registry, and what did not happen makes no series", () => {
  const registry = new MetricRegistry();
  const metrics = declareDnsMetrics(registry);
  metrics.requests.inc();
  const report = { requests: 5, upstreamRequests: 0, upstreamFailures: 0, upstreamSeconds: [0.5, 0.002] };
  addReport(metrics, report);
  addReport(metrics, { ...report, requests: 2, upstreamSeconds: [] });
  expect(registry.render()).toContain("istio_agent_dns_requests_total 8\n");
  expect(registry.render()).toContain("istio_agent_dns_upstream_request_duration_seconds_count 2\n");
  expect(registry.render()).not.toContain("upstream_failures");
});
