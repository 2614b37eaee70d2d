import { isJsonObject } from "../../base/json-object.ts";
import type { Json } from "./json.ts";

/** The values document of an installation, read by dotted paths. */
export class Values {
  readonly root: Json;
  /** Templates read the same few paths for every pod. */
  readonly #read = new Map<string, unknown>();

  constructor(root: Json) {
    this.root = root;
  }

  get(path: string): unknown {
    if (this.#read.has(path)) return this.#read.get(path);
    let value: unknown = this.root;
    for (const name of path.split(".")) value = isJsonObject(value) ? value[name] : undefined;
    this.#read.set(path, value);
    return value;
  }

  /** As a template prints it; absent is empty. */
  text(path: string): string {
    const value = this.get(path);
    return value === undefined || value === null ? "" : String(value);
  }

  /** Go's notion of truth: neither zero nor empty. */
  isSet(path: string): boolean {
    const value = this.get(path);
    if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
    return value !== undefined && value !== null && value !== "" && value !== 0 && value !== false;
  }
}

/** Lays one values document over another, map by map; null is a value like any other. */
export function overlayValues(base: Json, overlay: Json): Json {
  const result: Json = { ...base };
  for (const [key, value] of Object.entries(overlay)) {
    const before = result[key];
    result[key] = isJsonObject(before) && isJsonObject(value) ? overlayValues(before, value) : value;
  }
  return result;
}
