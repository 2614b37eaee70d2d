import { parseDuration } from "../../base/duration.ts";
import { quoteGo } from "../../base/go-quote.ts";

/** Go's texts for a scalar that does not parse; the flag parser puts the flag's name in front. */
export class ScalarError extends Error {}

const TRUE_WORDS: readonly string[] = ["1", "t", "T", "TRUE", "true", "True"];
const FALSE_WORDS: readonly string[] = ["0", "f", "F", "FALSE", "false", "False"];

export function parseBool(text: string): boolean {
  if (TRUE_WORDS.includes(text)) return true;
  if (FALSE_WORDS.includes(text)) return false;
  throw new ScalarError(`strconv.ParseBool: parsing ${quoteGo(text)}: invalid syntax`);
}

const INTEGER = /^([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?\d)*)$/;

/** Base by prefix (0x, 0b, 0o, leading 0), underscores between digits, as Go's base-0 integers. */
export function parseInteger(text: string, bits: 16 | 32 | 64, signed: boolean): number {
  const fail = (reason: string) =>
    new ScalarError(`strconv.${signed ? "ParseInt" : "ParseUint"}: parsing ${quoteGo(text)}: ${reason}`);
  const [, sign = "", digits = ""] = INTEGER.exec(text) ?? [];
  if (digits === "" || (!signed && sign !== "")) throw fail("invalid syntax");
  const magnitude = BigInt(toPrefixed(digits.replaceAll("_", "")));
  const value = sign === "-" ? -magnitude : magnitude;
  const limit = 2n ** BigInt(signed ? bits - 1 : bits);
  if (value >= limit || value < (signed ? -limit : 0n)) throw fail("value out of range");
  return Number(value);
}

/** BigInt knows 0x, 0b and 0o, but not C's octal with a bare leading zero. */
function toPrefixed(digits: string): string {
  return /^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits;
}

export function parseDurationFlag(text: string): bigint {
  return parseDuration(text);
}
