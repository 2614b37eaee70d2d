/** A message in proto3 JSON form. */
export type Json = Readonly<Record<string, unknown>>;

export function object(value: unknown): Json {
  return isObject(value) ? value : {};
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function objects(value: unknown): readonly Json[] {
  return list(value).map(object);
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Without the named members, and without members that are absent. */
export function without(message: Json, ...names: readonly string[]): Json {
  return Object.fromEntries(
    Object.entries(message).filter(([name, value]) => !names.includes(name) && value !== undefined),
  );
}

/** One text per value: keys sorted, so that equal messages have equal texts. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    isObject(item) ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
  );
}

/** A list whose order does not matter, as members of an object: a difference then names the element. */
export function asSet(values: readonly unknown[]): Json {
  return Object.fromEntries(
    values.map((value) => [typeof value === "string" ? value : canonical(value), true] as const).sort(),
  );
}

/**
 * Durations in their shortest spelling ("0.250s" is "0.25s"), everywhere. A cache of looked up names may be called anything, and be one
 * for several services: the reference has one for each, of which a listener that several share can use only the first.
 */
export function normalized<Value>(value: Value): Value {
  const walk = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(walk);
    if (isObject(item)) {
      const { dnsCacheConfig } = item;
      const cache = isObject(dnsCacheConfig) && { dnsCacheConfig: without(dnsCacheConfig, "name") };
      return Object.fromEntries(Object.entries({ ...item, ...cache }).map(([name, member]) => [name, walk(member)]));
    }
    return typeof item === "string" ? shortDuration(item) : item;
  };
  return walk(value) as Value;
}

function shortDuration(value: string): string {
  const [, whole, fraction] = /^(\d+)\.(\d+)s$/.exec(value) ?? [];
  if (whole === undefined || fraction === undefined) return value;
  const digits = fraction.replace(/0+$/, "");
  return digits === "" ? `${whole}s` : `${whole}.${digits}s`;
}
