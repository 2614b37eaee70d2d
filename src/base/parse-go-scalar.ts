import { quoteGo } from "./go-quote.ts";

const TRUE = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const FALSE = new Set(["0", "f", "F", "FALSE", "false", "False"]);
const INT64_MAX = 9_223_372_036_854_775_807n;
const DECIMAL_FLOAT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const SPECIAL_FLOAT = /^([+-]?)(inf|infinity|nan)$/i;

/** Go's spelling of booleans; undefined for anything else. */
export function parseGoBool(text: string): boolean | undefined {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

/** A decimal integer without blanks that fits 64 bits. */
export function parseGoInt(text: string): number | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ""));
  return value > INT64_MAX || value < -INT64_MAX - 1n ? undefined : Number(value);
}

/** Why `parseGoInt` refused the text, in Go's words. `parser` is the function named there. */
export function goIntProblem(text: string, parser = "Atoi"): string {
  const reason = /^[+-]?\d+$/.test(text) ? "value out of range" : "invalid syntax";
  return `strconv.${parser}: parsing ${quoteGo(text)}: ${reason}`;
}

export function parseGoFloat(text: string): number | undefined {
  const special = SPECIAL_FLOAT.exec(text);
  if (special !== null) {
    if (special[2]?.toLowerCase() === "nan") return Number.NaN;
    return special[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (!DECIMAL_FLOAT.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined; // beyond the range of a double is an error in Go
}
