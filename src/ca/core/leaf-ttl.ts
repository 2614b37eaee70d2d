import { formatDuration, formatDurationMs } from "../../base/duration.ts";
import { CaMaterialError, SignError } from "../ca-server-error.ts";
import type { SigningMaterial } from "./signing-material.ts";

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
  const [asked, allowed] = [printable(requestedSeconds), formatDurationMs(limits.maxMs)];
  throw new SignError("TTL_ERROR", `requested TTL ${asked} is greater than the max allowed TTL ${allowed}`);
}

const MAX_NANOSECONDS = 2n ** 63n - 1n;

/** Go's durations end after 292 years; a request beyond is shown as that. */
function printable(seconds: bigint): string {
  if (seconds > MAX_NANOSECONDS / 1_000_000_000n) return formatDuration(MAX_NANOSECONDS);
  return formatDuration(seconds * 1_000_000_000n);
}

/** The configured limits, with the default lowered to what is left of the chain: computed each time, so a reload counts. */
export function currentLimits(configured: TtlLimits, material: SigningMaterial, now: Date): TtlLimits {
  const { chainHead } = material;
  if (chainHead === undefined) return configured;
  const leftMs = chainHead.notAfter.getTime() - now.getTime();
  if (leftMs <= 0) throw new CaMaterialError("expired", "failed to get default cert TTL cert chain has expired");
  return { ...configured, defaultMs: Math.min(configured.defaultMs, leftMs) };
}
