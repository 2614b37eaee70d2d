import { isObject, text, without } from "./json.ts";

export interface Mutation {
  /** Where, with `[]` for any element; extensions are named. */
  readonly path: string;
  /** Made only when asked for: most places are tried elsewhere already. */
  apply(): unknown;
}

/** Every way to change one place: each scalar gets another value, each member and each element goes away once. */
export function mutations(value: unknown): readonly Mutation[] {
  const found: Mutation[] = [];
  collect(value, "", (changed) => changed, found);
  return found;
}

/** `whole` gives the document with another value in this place. */
function collect(value: unknown, path: string, whole: (changed: unknown) => unknown, found: Mutation[]): void {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const place = `${path}[${extensionName(item)}]`;
      found.push({ path: `${place} removed`, apply: () => whole(value.filter((_, other) => other !== index)) });
      collect(item, place, (changed) => whole(value.with(index, changed)), found);
    }
  } else if (isObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      found.push({ path: `${path}.${name} removed`, apply: () => whole(without(value, name)) });
      collect(item, `${path}.${name}`, (changed) => whole({ ...value, [name]: changed }), found);
    }
  } else if (typeof value === "string") {
    found.push({ path, apply: () => whole(/^\d+s$/.test(value) ? `1${value}` : `${value}x`) });
  } else if (typeof value === "number") found.push({ path, apply: () => whole(value + 1) });
  else if (typeof value === "boolean") found.push({ path, apply: () => whole(!value) });
}

function extensionName(item: unknown): string {
  const name = isObject(item) ? text(item.name) : "";
  return name.startsWith("envoy.") || name.startsWith("tlsMode-") ? name : "";
}
