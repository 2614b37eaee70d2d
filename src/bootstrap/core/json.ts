import { wellFormed } from "../../base/go-text.ts";
import { isJsonObject } from "../../base/json-object.ts";
import { stringifyExactJson } from "../../files/json/exact-json.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** Strict JSON of any value: members that are undefined are left out, half surrogate pairs become U+FFFD. */
export function toStrictJson(value: unknown, indent?: number): string {
  const text = stringifyExactJson(value, indent);
  // JSON writes half a surrogate pair as an escape, which protobuf's JSON readers refuse.
  return text.includes("\\ud") ? stringifyExactJson(repaired(value), indent) : text;
}

/** Keys by byte value at every depth. */
export function sortKeys(value: unknown, compare: (left: string, right: string) => number): unknown {
  if (Array.isArray(value)) return value.map((item) => sortKeys(item, compare));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).sort(([left], [right]) => compare(left, right));
  return Object.fromEntries(entries.map(([key, item]) => [key, sortKeys(item, compare)]));
}

function repaired(value: unknown): unknown {
  if (typeof value === "string") return wellFormed(value);
  if (Array.isArray(value)) return value.map(repaired);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [wellFormed(key), repaired(item)]));
}
