import { isObject } from "./json.ts";

export interface Mutation {
  readonly path: string;
  readonly value: unknown;
}

/** Every way to change one place: each scalar gets another value, each member and each element goes away once. */
export function* mutations(value: unknown, path = ""): Generator<Mutation> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield { path: `${path}[] removed`, value: value.filter((_, other) => other !== index) };
      for (const inner of mutations(item, `${path}[]`)) {
        yield { path: inner.path, value: value.map((same, other) => (other === index ? inner.value : same)) };
      }
    }
    return;
  }
  if (isObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      const { [name]: _gone, ...rest } = value;
      yield { path: `${path}.${name} removed`, value: rest };
      for (const inner of mutations(item, `${path}.${name}`)) {
        yield { path: inner.path, value: { ...value, [name]: inner.value } };
      }
    }
    return;
  }
  if (typeof value === "string") yield { path, value: /^\d+s$/.test(value) ? `1${value}` : `${value}x` };
  if (typeof value === "number") yield { path, value: value + 1 };
  if (typeof value === "boolean") yield { path, value: !value };
}
