import type { JsonSchema, Path, SchemaProblem } from "./check-schema.ts";
import { interpolate, type Lookup } from "./interpolate.ts";

/**
 * The value with `${NAME}` replaced in its texts, as the schema goes. A text where the schema wants a number or a boolean becomes one. Two
 * things stay as they are: Istio objects, which read the same in files of their own, and lines for the shell, which does it itself and knows
 * the application's variables too.
 */
export function resolveValues(
  value: unknown,
  schema: JsonSchema,
  lookup: Lookup,
): { readonly value: unknown; readonly problems: readonly SchemaProblem[] } {
  const problems: SchemaProblem[] = [];
  const resolve = (each: unknown, part: JsonSchema | undefined, path: Path): unknown => {
    if (path.length === 1 && path[0] === "config") return each;
    if (typeof each === "string") return path.at(-1) === "command" ? each : text(each, part, path);
    if (Array.isArray(each)) return each.map((item, index) => resolve(item, part?.items, [...path, index]));
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(
      Object.entries(each).map(([key, member]) => [key, resolve(member, schemaOf(part, key), [...path, key])]),
    );
  };
  const text = (given: string, part: JsonSchema | undefined, path: Path): unknown => {
    const result = interpolate(given, lookup, { unset: "error", takesBare: false });
    if ("problem" in result) {
      problems.push({ path, text: result.problem });
      return given;
    }
    return given.includes("${") ? typed(result.text, part) : result.text;
  };
  return { value: resolve(value, schema, []), problems };
}

function schemaOf(schema: JsonSchema | undefined, key: string): JsonSchema | undefined {
  const own = schema?.properties;
  if (own !== undefined && Object.hasOwn(own, key)) return own[key];
  return schema?.additionalProperties || undefined;
}

function typed(text: string, schema: JsonSchema | undefined): unknown {
  const types = [schema?.type ?? []].flat();
  if (types.length === 0 || types.includes("string")) return text;
  if ((types.includes("integer") || types.includes("number")) && /^-?\d+$/.test(text)) return Number(text);
  if (types.includes("boolean") && /^(true|false)$/.test(text)) return text === "true";
  return text;
}
