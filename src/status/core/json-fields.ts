/** The reference's decoder matches member names without regard to letter case; an exact match goes first. */
export function member(value: Readonly<Record<string, unknown>>, name: string): unknown {
  if (name in value) return value[name];
  const key = Object.keys(value).find((candidate) => candidate.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : value[key];
}

/** The word that Go's decoder has for a JSON value. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}
