import { isObject, text, without } from "./json.ts";

export interface Mutation {
  /** Where, with `[]` for any element; extensions are told by name. */
  readonly path: string;
  /** Made only when asked for: most places are tried elsewhere already. */
  apply(): unknown;
}

/** Every way to change one place: each scalar gets another value, each member and each element goes away once. */
export function* mutations(value: unknown, path = ""): Generator<Mutation> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const place = `${path}[${extensionName(item)}]`;
      yield { path: `${place} removed`, apply: () => value.filter((_, other) => other !== index) };
      for (const inner of mutations(item, place)) {
        yield { path: inner.path, apply: () => value.map((same, other) => (other === index ? inner.apply() : same)) };
      }
    }
    return;
  }
  if (isObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      yield { path: `${path}.${name} removed`, apply: () => without(value, name) };
      for (const inner of mutations(item, `${path}.${name}`)) {
        yield { path: inner.path, apply: () => ({ ...value, [name]: inner.apply() }) };
      }
    }
    return;
  }
  if (typeof value === "string") yield { path, apply: () => (/^\d+s$/.test(value) ? `1${value}` : `${value}x`) };
  if (typeof value === "number") yield { path, apply: () => value + 1 };
  if (typeof value === "boolean") yield { path, apply: () => !value };
}

function extensionName(item: unknown): string {
  const name = isObject(item) ? text(item.name) : "";
  return name.startsWith("envoy.") || name.startsWith("tlsMode-") ? name : "";
}
