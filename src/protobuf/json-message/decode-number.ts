import { jsonSyntaxError } from "../../files/json/json-syntax-error.ts";

export type NumberType = "int32" | "uint32" | "int64" | "double";

/** 64-bit values are compared as big integers, because a double would round them into range. */
const RANGES: Readonly<Record<Exclude<NumberType, "double">, readonly [bigint, bigint]>> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};
/** What may stand there, for messages. */
export const NUMBER_TEXTS: Readonly<Record<NumberType, string>> = {
  int32: "a whole number of 32 bits",
  uint32: "a whole number of 32 bits, 0 or more",
  int64: "a whole number of 64 bits",
  double: "a number",
};
/** JSON has no literals for these, so protobuf spells them as strings. */
const NON_FINITE: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};

type Decoded = { readonly value: number | string } | { readonly problem: string };

/** A number or a quoted number; null is zero. 64-bit integers come back as decimal text. `goType` is the type name in the message. */
export function decodeNumber(
  type: NumberType,
  json: unknown,
  goType: string = type === "double" ? "float64" : type,
): Decoded {
  if (json === null) return zero(type);
  if (typeof json === "number" || typeof json === "bigint") return checked(type, String(json), Number(json), goType);
  if (typeof json !== "string")
    return { problem: `json: cannot unmarshal ${kindOf(json)} into Go value of type ${goType}` };
  const special = type === "double" && Object.hasOwn(NON_FINITE, json) ? NON_FINITE[json] : undefined;
  if (special !== undefined) return { value: special };
  // The reference strips the quotes and reads what is inside as JSON, hence its odd messages for text.
  const problem = jsonSyntaxError(json);
  if (problem !== undefined) return { problem };
  const inner: unknown = JSON.parse(json);
  if (inner === null) return zero(type);
  if (typeof inner !== "number")
    return { problem: `json: cannot unmarshal ${kindOf(inner)} into Go value of type ${goType}` };
  return checked(type, json.trim(), inner, goType);
}

/** The JSON kind as Go's decoder names it. */
export function kindOf(json: unknown): string {
  if (Array.isArray(json)) return "array";
  if (typeof json === "boolean") return "bool";
  if (typeof json === "bigint") return "number";
  return json === null ? "null" : typeof json;
}

function zero(type: NumberType): Decoded {
  return { value: type === "int64" ? "0" : 0 };
}

function checked(type: NumberType, text: string, value: number, goType: string): Decoded {
  if (type === "double") return Number.isFinite(value) ? { value } : { problem: misfit(text, goType) };
  if (!/^-?\d+$/.test(text)) return { problem: misfit(text, goType) };
  const exact = BigInt(text);
  const [least, most] = RANGES[type];
  if (exact < least || exact > most) return { problem: misfit(text, goType) };
  return { value: type === "int64" ? String(exact) : Number(exact) };
}

function misfit(text: string, goType: string): string {
  return `json: cannot unmarshal number ${text} into Go value of type ${goType}`;
}
