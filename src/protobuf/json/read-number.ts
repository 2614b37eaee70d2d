import { jsonSyntaxError } from "../../files/json/json-syntax-error.ts";
import type { ScalarCode } from "../message-tables.ts";

export type NumberCode = Extract<ScalarCode, "d" | "f" | "i" | "I" | "u" | "U">;

/** What is wrong with a number; `found` is what stands there, as text. */
export type NumberFault =
  | { readonly reason: "kind"; readonly value: unknown }
  | { readonly reason: "syntax"; readonly problem: string }
  | { readonly reason: "fraction" | "range"; readonly found: string };

/** 64-bit values are compared as big integers, because a double would round them into range. */
const RANGES: Readonly<Record<Exclude<NumberCode, "d" | "f">, readonly [bigint, bigint]>> = {
  i: [-(2n ** 31n), 2n ** 31n - 1n],
  u: [0n, 2n ** 32n - 1n],
  I: [-(2n ** 63n), 2n ** 63n - 1n],
  U: [0n, 2n ** 64n - 1n],
};
/** The greatest 64-bit integer that is held as a number, and its negative counterpart. */
const SAFE = BigInt(Number.MAX_SAFE_INTEGER);
/** JSON has no literals for these, so that protobuf spells them as strings. */
const NON_FINITE: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,4})?$/;

export interface NumberOptions {
  /** Text is read as Go's older JSON reader does: as a JSON document of its own, integers without fraction or exponent. */
  readonly quotedDocuments: boolean;
  /** 64-bit integers are numbers, as far as these are exact; otherwise they are decimal text. */
  readonly asNumbers: boolean;
}

/** A number or a quoted number. */
export function readNumber(
  code: NumberCode,
  json: unknown,
  options: NumberOptions,
): { readonly value: number | string } | NumberFault {
  if (typeof json === "number" || typeof json === "bigint") return checkNumber(code, String(json), options);
  if (typeof json !== "string") return { reason: "kind", value: json };
  const special = (code === "d" || code === "f") && Object.hasOwn(NON_FINITE, json) ? NON_FINITE[json] : undefined;
  if (special !== undefined) return { value: special };
  if (!options.quotedDocuments) {
    return JSON_NUMBER.test(json) ? checkNumber(code, json, options) : { reason: "kind", value: json };
  }
  const problem = jsonSyntaxError(json);
  if (problem !== undefined) return { reason: "syntax", problem };
  const inner: unknown = JSON.parse(json);
  if (inner === null) return checkNumber(code, "0", options);
  return typeof inner === "number" ? checkNumber(code, json.trim(), options) : { reason: "kind", value: inner };
}

/** The least and the greatest value, for messages. */
export function rangeOf(code: NumberCode, { asNumbers }: Pick<NumberOptions, "asNumbers">): readonly [string, string] {
  if (code === "d") return [String(-Number.MAX_VALUE), String(Number.MAX_VALUE)];
  if (code === "f") return ["-3.4028235e+38", "3.4028235e+38"];
  const [least, most] = integerRange(code, asNumbers);
  return [String(least), String(most)];
}

function checkNumber(
  code: NumberCode,
  found: string,
  { quotedDocuments, asNumbers }: NumberOptions,
): { readonly value: number | string } | NumberFault {
  const number = Number(found);
  if (code === "d" || code === "f") {
    const fits = Number.isFinite(code === "f" ? Math.fround(number) : number);
    return fits ? { value: number } : { reason: "range", found };
  }
  const isWhole = /^-?\d+$/.test(found) || (!quotedDocuments && Number.isInteger(number));
  if (!isWhole) return { reason: Number.isFinite(number) ? "fraction" : "range", found };
  const exact = /^-?\d+$/.test(found) ? BigInt(found) : BigInt(number);
  const [least, most] = integerRange(code, asNumbers);
  if (exact < least || exact > most) return { reason: "range", found };
  return { value: isWide(code) && !asNumbers ? String(exact) : Number(exact) };
}

function integerRange(code: Exclude<NumberCode, "d" | "f">, asNumbers: boolean): readonly [bigint, bigint] {
  const [least, most] = RANGES[code];
  if (!isWide(code) || !asNumbers) return [least, most];
  return [code === "I" ? -SAFE : least, SAFE];
}

function isWide(code: NumberCode): boolean {
  return code === "I" || code === "U";
}
