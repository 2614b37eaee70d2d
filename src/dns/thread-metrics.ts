import type { DnsMetrics } from "./metrics.ts";
import type { MetricsReport } from "./thread-messages.ts";

/** How late the figures of a worker may be. */
const REPORT_DELAY_MS = 250;

export interface ThreadMetrics {
  readonly metrics: DnsMetrics;
  /** Sends what was not reported yet; nothing is sent by itself afterwards. */
  stop(): void;
}

/** Counts in the worker and reports sums: a message per query would cost more than the query. Without queries nothing wakes up. */
export function createThreadMetrics(report: (report: MetricsReport) => void): ThreadMetrics {
  let requests = 0;
  let upstreamRequests = 0;
  let upstreamFailures = 0;
  let upstreamSeconds: number[] = [];
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    timer = undefined;
    report({ requests, upstreamRequests, upstreamFailures, upstreamSeconds });
    requests = 0;
    upstreamRequests = 0;
    upstreamFailures = 0;
    upstreamSeconds = [];
  };
  const changed = () => {
    timer ??= setTimeout(flush, REPORT_DELAY_MS);
  };
  const metrics: DnsMetrics = {
    requests: {
      inc() {
        requests++;
        changed();
      },
    },
    upstreamRequests: {
      inc() {
        upstreamRequests++;
        changed();
      },
    },
    upstreamFailures: {
      inc() {
        upstreamFailures++;
        changed();
      },
    },
    upstreamSeconds: {
      observe(value) {
        upstreamSeconds.push(value);
        changed();
      },
    },
  };
  return {
    metrics,
    stop() {
      if (timer === undefined) return;
      clearTimeout(timer);
      flush();
    },
  };
}

export function addReport(metrics: DnsMetrics, report: MetricsReport): void {
  // Adding zero would create a series without a sample.
  if (report.requests > 0) metrics.requests.inc([], report.requests);
  if (report.upstreamRequests > 0) metrics.upstreamRequests.inc([], report.upstreamRequests);
  if (report.upstreamFailures > 0) metrics.upstreamFailures.inc([], report.upstreamFailures);
  for (const seconds of report.upstreamSeconds) metrics.upstreamSeconds.observe(seconds);
}
