const SECOND = 1_000_000_000n;
/** Ten thousand years. */
const MAX_SECONDS = 315_576_000_000n;
/** A sign, digits, up to nine decimals; one of the two numbers may be left out. */
const DURATION = /^([-+]?)(?=\.?\d)(\d*)(?:\.(\d{0,9}))?s$/;

/** Proto3 JSON form of a duration: seconds with 0, 3, 6 or 9 decimals, for example "45s" or "0.500s". */
export function formatProtoDuration(nanoseconds: bigint): string {
  const sign = nanoseconds < 0n ? "-" : "";
  const absolute = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  return `${sign}${absolute / SECOND}${formatDecimals(absolute % SECOND)}s`;
}

/** Three, six or nine digits, or none. */
export function formatDecimals(nanoseconds: bigint): string {
  const digits = String(nanoseconds)
    .padStart(9, "0")
    .replace(/(?:000){1,3}$/, "");
  return digits === "" ? "" : `.${digits}`;
}

/** Nanoseconds of "1.5s". */
export function parseProtoDuration(text: string): bigint {
  const [, sign, seconds = "", fraction = ""] = DURATION.exec(text) ?? [];
  if (sign === undefined) throw new RangeError(`not a proto duration: ${text}`);
  if (BigInt(seconds || "0") > MAX_SECONDS) throw new RangeError(`proto duration out of range: ${text}`);
  const nanoseconds = BigInt(seconds || "0") * SECOND + BigInt(fraction.padEnd(9, "0"));
  return sign === "-" ? -nanoseconds : nanoseconds;
}

/** 0 when unset. */
export function wholeSeconds(duration: string | undefined): number {
  return duration === undefined ? 0 : Number(parseProtoDuration(duration) / SECOND);
}
