import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import { GrpcError } from "../../grpc/index.ts";
import type { AdsMetrics } from "./metrics.ts";

/** Counts a send that failed for another reason than that the client went away, which it may at any time. */
export function countSendFailure(metrics: Pick<AdsMetrics, "pushes">, metric: string, thrown: unknown): void {
  const isEnd = thrown instanceof GrpcError && (thrown.code === "CANCELLED" || thrown.code === "UNAVAILABLE");
  if (!isEnd) metrics.pushes.inc([`${metric}_senderr`]);
}

/** False when the work is not done by then; it goes on. Without a time it is waited for as long as it takes. */
export async function isDoneWithin(work: Promise<void>, ms: number | undefined): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    if (ms !== undefined) timer = setTimeout(() => resolve(false), Math.min(ms, MAX_TIMER_MS));
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
