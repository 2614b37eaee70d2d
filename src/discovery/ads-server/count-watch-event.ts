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
  // The code alone: what the client says may be long and always new, which a series must not be.
  const labels = (error: Refusal) => [proxy, goStatusName(error.code)];
  if (before?.error !== undefined) metrics.rejectedBy[metric]?.remove(labels(before.error));
  if (after?.error !== undefined) metrics.rejectedBy[metric]?.set(1, labels(after.error));
}
