import { formatDurationMs } from "../../base/duration.ts";
import { SignError } from "../ca-server-error.ts";

export interface TtlLimits {
  /** For requests that ask for none. */
  readonly defaultMs: number;
  readonly maxMs: number;
}

/** How long the leaf will live. Zero and negative requests mean the default, which the cap also holds for. */
export function leafTtlMs(requestedSeconds: bigint, limits: TtlLimits): number {
  if (requestedSeconds <= 0n) return Math.min(limits.defaultMs, limits.maxMs);
  const requestedMs = Number(requestedSeconds) * 1000;
  if (requestedMs <= limits.maxMs) return requestedMs;
  const [asked, allowed] = [printable(requestedMs), printable(limits.maxMs)];
  throw new SignError("TTL_ERROR", `requested TTL ${asked} is greater than the max allowed TTL ${allowed}`);
}

/** Go's durations end after 292 years; a request beyond is shown as that. */
function printable(milliseconds: number): string {
  return formatDurationMs(Math.min(milliseconds, 9_223_372_036_854));
}
