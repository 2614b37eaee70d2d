import { unquoteGo } from "../base/go-quote.ts";

const MAX_UINT64 = 2n ** 64n - 1n;
const MIN_INT64 = -(2n ** 63n);

/** A Go number or character constant; a string result is what is wrong with it. Integers beyond 2^53 stay exact as bigint. */
export function parseNumber(text: string): number | bigint | string {
  if (text.startsWith("'")) {
    const char = unquoteGo(text);
    return char === undefined ? `malformed character constant: ${text}` : (char.codePointAt(0) ?? 0);
  }
  const bad = `bad number syntax: ${JSON.stringify(text)}`;
  if (/i$/.test(text) && !/^[+-]?0[xX]/.test(text)) return `complex constant ${text} is not supported`;
  // Underscores only between digits (or after the base prefix).
  if (/__|_$|^[+-]?_|_\.|\._|_[eEpP+-]|[eE+-]_/.test(text)) return bad;
  const digits = text.replaceAll("_", "");
  const integer = parseInteger(digits);
  if (integer !== undefined) {
    if (integer > MAX_UINT64 || integer < MIN_INT64) return `integer overflow: ${JSON.stringify(text)}`;
    return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
  }
  const float = /^[+-]?0[xX]/.test(digits) ? parseHexFloat(digits) : parseDecimal(digits);
  return Number.isFinite(float) ? float : bad;
}

function parseInteger(digits: string): bigint | undefined {
  const sign = digits.startsWith("-") ? -1n : 1n;
  const body = digits.replace(/^[+-]/, "");
  if (/^0[xX][0-9a-fA-F]+$/.test(body) || /^0[oO][0-7]+$/.test(body) || /^0[bB][01]+$/.test(body))
    return sign * BigInt(body);
  if (/^0[0-7]+$/.test(body)) return sign * BigInt(`0o${body.slice(1)}`);
  return /^(0|[1-9]\d*)$/.test(body) ? sign * BigInt(body) : undefined;
}

function parseDecimal(digits: string): number {
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(digits) && !/^[+-]?0\d+$/.test(digits)
    ? Number(digits)
    : Number.NaN;
}

function parseHexFloat(digits: string): number {
  const matched = /^([+-]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?\d+)$/.exec(digits);
  if (matched === null) return Number.NaN;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = matched;
  if (whole + fraction === "") return Number.NaN;
  const mantissa = Number.parseInt(whole + fraction, 16) * 2 ** (-4 * fraction.length);
  return (sign === "-" ? -1 : 1) * mantissa * 2 ** Number(exponent);
}
