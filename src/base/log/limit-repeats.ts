import type { LogLevel } from "../logger.ts";

/** A line that may be written now, or one that is only counted. `suppressed` is the number of equal lines left out since the last one. */
export type RepeatVerdict = { readonly write: true; readonly suppressed: number } | { readonly write: false };

export interface RepeatLimit {
  /** `message` is the constant text of the line: lines that differ in their fields only are equal. */
  check(scope: string, level: LogLevel, message: string, nowMs: number): RepeatVerdict;
  /** Counts of lines that were left out and that no later line has reported; they are reported with this call. */
  takeSuppressed(): readonly SuppressedLines[];
}

export interface SuppressedLines {
  readonly scope: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly count: number;
}

interface Bucket {
  readonly scope: string;
  readonly level: LogLevel;
  readonly message: string;
  tokens: number;
  filledMs: number;
  suppressed: number;
}

const BURST = 50;
const PER_SECOND = 2;
const MAX_BUCKETS = 500;

/**
 * A token bucket for each text: whoever can make the process log (a refused caller, a peer that keeps failing) fills neither the disk nor
 * the log pipeline. A burst is written in full; after that two lines a second, each with the number of lines left out before it.
 */
export function createRepeatLimit(): RepeatLimit {
  const buckets = new Map<string, Bucket>();

  const bucketOf = (scope: string, level: LogLevel, message: string, nowMs: number): Bucket => {
    const key = `${scope}\n${level}\n${message}`;
    const known = buckets.get(key);
    if (known !== undefined) return known;
    // Texts that carry values are all different: the oldest bucket goes, unless it has a count to report.
    for (const [oldest, { suppressed }] of buckets) {
      if (buckets.size < MAX_BUCKETS) break;
      if (suppressed === 0) buckets.delete(oldest);
    }
    const made = { scope, level, message, tokens: BURST, filledMs: nowMs, suppressed: 0 };
    if (buckets.size < MAX_BUCKETS) buckets.set(key, made);
    return made;
  };

  return {
    check(scope, level, message, nowMs) {
      const bucket = bucketOf(scope, level, message, nowMs);
      const elapsedMs = Math.max(0, nowMs - bucket.filledMs);
      bucket.tokens = Math.min(BURST, bucket.tokens + (elapsedMs / 1000) * PER_SECOND);
      bucket.filledMs = nowMs;
      if (bucket.tokens < 1) {
        bucket.suppressed += 1;
        return { write: false };
      }
      bucket.tokens -= 1;
      const { suppressed } = bucket;
      bucket.suppressed = 0;
      return { write: true, suppressed };
    },
    takeSuppressed() {
      const found = [...buckets.values()].filter(({ suppressed }) => suppressed > 0);
      return found.map((bucket) => {
        const { scope, level, message, suppressed: count } = bucket;
        bucket.suppressed = 0;
        return { scope, level, message, count };
      });
    },
  };
}
