import { CodedError } from "./coded-error.ts";

export class DurationError extends CodedError<"invalid-duration"> {}

const UNIT_NANOSECONDS: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["µs", 1_000n], // U+00B5 micro sign
  ["μs", 1_000n], // U+03BC Greek letter mu
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);

const MAX_NANOSECONDS = 9_223_372_036_854_775_807n;
const TERM = /^(\d*)(?:\.(\d*))?([^\d.]*)/;

/** Go's duration syntax ("300ms", "-1.5h", "2h45m", "0") to nanoseconds, with Go's error texts. */
export function parseDuration(text: string): bigint {
  const negative = text.startsWith("-");
  let rest = negative || text.startsWith("+") ? text.slice(1) : text;
  if (rest === "0") return 0n;
  if (rest === "") throw invalid(text);
  let total = 0n;
  while (rest !== "") {
    const [matched = "", whole = "", fraction = "", unit = ""] = TERM.exec(rest) ?? [];
    if (whole === "" && fraction === "") throw invalid(text);
    if (unit === "") throw new DurationError("invalid-duration", `time: missing unit in duration ${quote(text)}`);
    const nanoseconds = UNIT_NANOSECONDS.get(unit);
    if (nanoseconds === undefined) {
      throw new DurationError("invalid-duration", `time: unknown unit ${quote(unit)} in duration ${quote(text)}`);
    }
    total += BigInt(whole || "0") * nanoseconds;
    if (fraction !== "") total += (BigInt(fraction) * nanoseconds) / 10n ** BigInt(fraction.length);
    if (total > MAX_NANOSECONDS) throw invalid(text);
    rest = rest.slice(matched.length);
  }
  return negative ? -total : total;
}

/** Milliseconds, with fractions. */
export function parseDurationMs(text: string): number {
  return Number(parseDuration(text)) / 1e6;
}

/** Go's print form: "1h30m0s", "1.5s", "101ms", "250µs", "0s". */
export function formatDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return "0s";
  if (nanoseconds < 0n) return `-${formatDuration(-nanoseconds)}`;
  if (nanoseconds < 1_000n) return `${nanoseconds}ns`;
  if (nanoseconds < 1_000_000n) return `${decimal(nanoseconds, 1_000n)}µs`;
  if (nanoseconds < 1_000_000_000n) return `${decimal(nanoseconds, 1_000_000n)}ms`;
  const minutes = nanoseconds / 60_000_000_000n;
  const seconds = `${decimal(nanoseconds % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return seconds;
  if (minutes < 60n) return `${minutes}m${seconds}`;
  return `${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

export function formatDurationMs(milliseconds: number): string {
  return formatDuration(BigInt(Math.round(milliseconds * 1e6)));
}

function decimal(value: bigint, unit: bigint): string {
  const digits = String(unit).length - 1;
  const fraction = String(value % unit)
    .padStart(digits, "0")
    .replace(/0+$/, "");
  return fraction === "" ? String(value / unit) : `${value / unit}.${fraction}`;
}

function invalid(text: string): DurationError {
  return new DurationError("invalid-duration", `time: invalid duration ${quote(text)}`);
}

function quote(text: string): string {
  return JSON.stringify(text);
}
