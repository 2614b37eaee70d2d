import type { Gauge } from "../../base/metric-registry.ts";
import { goStatusName } from "../../grpc/index.ts";
import type { Decision, Nack, Subscription } from "../../xds/subscription.ts";
import type { AdsMetrics } from "./metrics.ts";

export interface RequestOutcome {
  readonly metric: string;
  readonly event: Decision["event"];
  readonly before: Subscription | undefined;
  readonly after: Subscription | undefined;
}

/** Counts what a proxy's request meant; the series of a NACK is there until a later response is ACKed. */
export function countRequest(metrics: AdsMetrics, proxy: string, change: RequestOutcome): void {
  const { metric, event, before, after } = change;
  if (event === "stale") metrics.expiredNonces.inc([metric]);
  if (event === "nacked") metrics.rejects.inc([metric]);
  if (before?.error === after?.error) return;
  if (before?.error !== undefined) countNack(metrics, metric, { proxy, error: before.error, by: -1 });
  if (after?.error !== undefined) countNack(metrics, metric, { proxy, error: after.error, by: 1 });
}

/** Nacks of one proxy that stand, by series: it may have an old stream that ends beside the new one. */
const unresolved = new WeakMap<Gauge, Map<string, number>>();

function countNack(
  { rejectedBy }: AdsMetrics,
  metric: string,
  { proxy, error, by }: { readonly proxy: string; readonly error: Nack; readonly by: 1 | -1 },
): void {
  const gauge = rejectedBy[metric];
  if (gauge === undefined) return;
  const counts = unresolved.get(gauge) ?? new Map<string, number>();
  unresolved.set(gauge, counts);
  // The code alone: what the client says may be long and always new, which a series must not be.
  const labels = [proxy, goStatusName(error.code)];
  const key = JSON.stringify(labels);
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) {
    counts.set(key, count);
    gauge.set(1, labels);
  } else {
    counts.delete(key);
    gauge.remove(labels);
  }
}
