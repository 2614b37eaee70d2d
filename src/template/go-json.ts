import { wellFormed } from "../base/go-text.ts";
import { stringifyExactJson } from "../files/json/exact-json.ts";
import { GoEnum, GoStruct, isMap, mapEntries } from "./values.ts";

/** Keeps a cyclic or absurdly deep value from overflowing the stack. */
const MAX_DEPTH = 200;

/** encoding/json's Marshal: compact, keys sorted, `<`, `>`, `&` escaped. Undefined for what JSON cannot express. */
export function marshalGoJson(value: unknown, escapeHtml = true): string | undefined {
  const text = stringifyExactJson(toJsonValue(value, 0));
  if (text === undefined || !escapeHtml) return text;
  return text.replaceAll(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function toJsonValue(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return undefined;
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return wellFormed(value);
  if (value instanceof GoStruct || value instanceof GoEnum) return toJsonValue(value.toJSON(), depth + 1);
  if (Array.isArray(value)) return value.map((item) => toJsonValue(item, depth + 1));
  if (!isMap(value)) return value;
  return Object.fromEntries(
    mapEntries(value).map(([key, item]) => [wellFormed(String(key)), toJsonValue(item, depth + 1)]),
  );
}
