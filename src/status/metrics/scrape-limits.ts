import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
/** Time a whole scrape may take, the margin for sending its end included. */
export interface ScrapeLimits {
  readonly totalMs: number;
  /** Sources that are not there by then cannot take part in merging and in choosing the format. */
  readonly graceMs: number;
  /** Silence of one source. */
  readonly stallMs: number;
  /** By then the scraper must have taken everything. */
  readonly scraperMs: number;
  readonly warning: string | undefined;
}

const DEFAULT_TOTAL_MS = 60_000;
const STALL_MS = 10_000;
const SCRAPER_EXTRA_MS = 5_000;
const MAX_GRACE_MS = 3_000;
/** The scraper must get the end of the document before it gives up. */
const MARGIN = 0.9;

/** From the scraper's `X-Prometheus-Scrape-Timeout-Seconds`. */
export function scrapeLimits(header: string | undefined): ScrapeLimits {
  const seconds = header === undefined ? Number.NaN : parseSeconds(header);
  const isGiven = Number.isFinite(seconds) && seconds > 0;
  const totalMs = isGiven ? Math.min(seconds * 1000 * MARGIN, MAX_TIMER_MS) : DEFAULT_TOTAL_MS;
  const warning =
    header === undefined || isGiven
      ? undefined
      : `Failed to parse timeout header ${header}: it must be seconds above 0`;
  return {
    totalMs,
    graceMs: Math.min(MAX_GRACE_MS, totalMs / 2),
    // A third: one that falls silent leaves time for those behind it.
    stallMs: Math.min(STALL_MS, totalMs / 3),
    scraperMs: Math.min(totalMs / MARGIN + SCRAPER_EXTRA_MS, MAX_TIMER_MS),
    warning,
  };
}

function parseSeconds(text: string): number {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN;
}
