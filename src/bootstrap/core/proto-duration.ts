import { parseDuration } from "../../base/duration.ts";

const SECOND = 1_000_000_000n;

/** Proto JSON's form: seconds with no, 3, 6 or 9 decimals. */
export function formatProtoDuration(nanoseconds: bigint): string {
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = String(size % SECOND).padStart(9, "0");
  const digits = fraction.endsWith("000000000")
    ? 0
    : fraction.endsWith("000000")
      ? 3
      : fraction.endsWith("000")
        ? 6
        : 9;
  const text = digits === 0 ? `${size / SECOND}s` : `${size / SECOND}.${fraction.slice(0, digits)}s`;
  return nanoseconds < 0n ? `-${text}` : text;
}

/** Whole seconds of a proto JSON duration, 0 when unset. */
export function wholeSeconds(duration: string | undefined): number {
  return duration === undefined ? 0 : Number(parseDuration(duration) / SECOND);
}
