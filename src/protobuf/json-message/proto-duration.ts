const SECOND = 1_000_000_000n;

/** Proto3 JSON form of a duration: seconds with 0, 3, 6 or 9 decimals, for example "45s" or "0.500s". */
export function formatProtoDuration(nanoseconds: bigint): string {
  const sign = nanoseconds < 0n ? "-" : "";
  const absolute = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = String(absolute % SECOND).padStart(9, "0");
  const decimals = fraction.replace(/(?:000){1,3}$/, "");
  return `${sign}${absolute / SECOND}${decimals === "" ? "" : `.${decimals}`}s`;
}

/** Reads the form above; the decoder has made every duration in a config object one of these. */
export function parseProtoDuration(text: string): bigint {
  const [, sign, seconds = "0", fraction = ""] = /^(-?)(\d+)(?:\.(\d{1,9}))?s$/.exec(text) ?? [];
  if (sign === undefined) throw new RangeError(`not a proto duration: ${text}`);
  const nanoseconds = BigInt(seconds) * SECOND + BigInt(fraction.padEnd(9, "0"));
  return sign === "-" ? -nanoseconds : nanoseconds;
}
