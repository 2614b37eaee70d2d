import type { Gauge } from "../../base/metric-registry.ts";
import { goStatusName } from "../../grpc/index.ts";
import type { Decision, Refusal, Watch } from "./core/watch.ts";
import type { AdsMetrics } from "./metrics.ts";

export interface WatchChange {
  readonly metric: string;
  readonly event: Decision["event"];
  readonly before: Watch | undefined;
  readonly after: Watch | undefined;
}

/** Counts what a proxy's request meant; the series of a refusal stands as long as the refusal does. */
export function countWatchEvent(metrics: AdsMetrics, proxy: string, change: WatchChange): void {
  const { metric, event, before, after } = change;
  if (event === "stale") metrics.expiredNonces.inc([metric]);
  if (event === "nacked") metrics.rejects.inc([metric]);
  if (before?.error === after?.error) return;
  if (before?.error !== undefined) countRefusal(metrics, metric, { proxy, error: before.error, by: -1 });
  if (after?.error !== undefined) countRefusal(metrics, metric, { proxy, error: after.error, by: 1 });
}

/** Refusals of one proxy that stand, by series: it may have an old stream that ends beside the new one. */
const standing = new WeakMap<Gauge, Map<string, number>>();

function countRefusal(
  { rejectedBy }: AdsMetrics,
  metric: string,
  { proxy, error, by }: { readonly proxy: string; readonly error: Refusal; readonly by: 1 | -1 },
): void {
  const gauge = rejectedBy[metric];
  if (gauge === undefined) return;
  const counts = standing.get(gauge) ?? new Map<string, number>();
  standing.set(gauge, counts);
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
