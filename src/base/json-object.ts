/** An object of parsed JSON or YAML, which may hold anything: a list is none, nor is null. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object, or one without members for what is something else. */
export function asJsonObject(value: unknown): Readonly<Record<string, unknown>> {
  return isJsonObject(value) ? value : {};
}
