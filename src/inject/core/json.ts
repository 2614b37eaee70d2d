import { isJsonObject } from "../../base/json-object.ts";

/** JSON data as it comes from a document. */
export type Json = Record<string, unknown>;
/** The text form of JSON that Go's encoder gives: `<`, `>` and `&` escaped. */
export function goJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

export function asObject(value: unknown): Json {
  return isJsonObject(value) ? value : {};
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The members that are objects: containers, volumes, ports. */
export function objects(value: unknown): readonly Json[] {
  return asList(value).filter(isJsonObject);
}

export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A map of texts, such as labels. */
export function textMap(value: unknown): Readonly<Record<string, string>> {
  const map = asObject(value);
  if (isTextMap(map)) return map;
  const entries = Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.fromEntries(entries);
}

/** Looked through before: a pod's annotations are asked for dozens of times, and there may be many. */
const textMaps = new WeakSet<Json>();

function isTextMap(map: Json): map is Record<string, string> {
  if (textMaps.has(map)) return true;
  for (const name in map) if (typeof map[name] !== "string") return false;
  textMaps.add(map);
  return true;
}
