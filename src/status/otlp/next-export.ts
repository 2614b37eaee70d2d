import { backoffDelayMs } from "../../base/backoff.ts";
import { OtlpError } from "./export-answer.ts";

const FIRST_RETRY_MS = 1000;
const MAX_WAIT_MS = 5 * 60_000;

/**
 * How long to wait for the next export after the one that failed with `failure`, the last of `failures` in a row. A collector that is away
 * is asked again soon, with the values of then; one that does not want what it gets, never earlier than usual. Only a collector that
 * takes a part gets its exports as often as ever.
 */
export function nextExportMs(
  failure: unknown,
  failures: number,
  intervalMs: number,
  random: () => number = Math.random,
): number {
  const { code, retryAfterMs = 0 } =
    failure instanceof OtlpError ? failure : { code: "retryable" as const, retryAfterMs: 0 };
  if (code === "partial") return intervalMs;
  const initialMs = code === "retryable" ? Math.min(FIRST_RETRY_MS, intervalMs) : intervalMs;
  const maxMs = Math.max(intervalMs, MAX_WAIT_MS);
  const delayMs = backoffDelayMs({ initialMs, maxMs, factor: 2, jitter: 0.1 }, failures, random);
  return Math.min(maxMs, Math.max(delayMs, retryAfterMs));
}
