import { type BackoffOptions, backoffDelayMs } from "../../../base/backoff.ts";
import type { GrpcStatusName } from "../../../protocol/grpc-status-names.ts";

export const MAX_ATTEMPTS = 5;

/** 100, 200, 400 and 800 ms, each give or take a tenth. */
const BACKOFF: BackoffOptions = { initialMs: 100, maxMs: 800, factor: 2, jitter: 0.1 };

/** Passing troubles of the CA or of the way to it. A deadline is not among them: it has cost enough time already. */
const RETRIED: ReadonlySet<GrpcStatusName> = new Set(["RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL", "UNAVAILABLE"]);

/** Milliseconds before the next attempt after `failures` failed ones; undefined when this was the last. */
export function retryDelayMs(code: GrpcStatusName, failures: number, random: () => number): number | undefined {
  if (!RETRIED.has(code) || failures >= MAX_ATTEMPTS) return undefined;
  return backoffDelayMs(BACKOFF, failures, random);
}
