import type { JsonSchema } from "../../src/console/api.ts";
import { yamlPosition } from "./yaml-position.ts";

export interface Suggestion {
  readonly label: string;
  /** What is put in place of the prefix. */
  readonly insert: string;
  readonly detail: string;
  readonly description: string;
}

export interface Completion {
  /** Where the text that is replaced begins. */
  readonly from: number;
  readonly suggestions: readonly Suggestion[];
}

export interface CompletionSources {
  readonly kinds: readonly { readonly kind: string; readonly apiVersion: string; readonly description?: string }[];
  schemaOf(kind: string): JsonSchema | undefined;
}

const LIMIT = 40;

/** What may stand at the cursor, by the schema of the document's kind. */
export function complete(text: string, offset: number, sources: CompletionSources): Completion | undefined {
  const position = yamlPosition(text, offset);
  const starts = (label: string) =>
    label.toLowerCase().startsWith(position.prefix.toLowerCase()) && label !== position.prefix;
  const from = offset - position.prefix.length;
  if (position.path.length === 0 && position.at === "value") {
    const list = sources.kinds.map((known) => (position.key === "kind" ? known.kind : known.apiVersion));
    if (position.key !== "kind" && position.key !== "apiVersion") return undefined;
    return toCompletion(
      from,
      [...new Set(list)].filter(starts).map((label) => ({ label, insert: label, detail: "", description: "" })),
    );
  }
  const schema = sources.schemaOf(position.kind) ?? ROOT;
  const here = schemaAt(schema, position.path);
  if (position.at === "value") {
    const values = valuesOf(here?.properties?.[position.key]);
    return toCompletion(
      from,
      values.filter(starts).map((label) => ({ label, insert: label, detail: "", description: "" })),
    );
  }
  const keys = Object.entries(here?.properties ?? {}).filter(
    ([key]) => starts(key) && !position.siblings.includes(key),
  );
  return toCompletion(
    from,
    keys.map(([key, of]) => ({
      label: key,
      insert: `${key}:${of.type === "object" || of.type === "array" ? "" : " "}`,
      detail: typeOf(of),
      description: of.description ?? "",
    })),
  );
}

/** Before the kind is written. */
const ROOT: JsonSchema = {
  type: "object",
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { type: "object", properties: { name: { type: "string" }, namespace: { type: "string" } } },
    spec: { type: "object" },
  },
};

function toCompletion(from: number, suggestions: readonly Suggestion[]): Completion | undefined {
  return suggestions.length === 0 ? undefined : { from, suggestions: suggestions.slice(0, LIMIT) };
}

function schemaAt(root: JsonSchema, path: readonly string[]): JsonSchema | undefined {
  let at: JsonSchema | undefined = root;
  for (const segment of path) {
    const extra: JsonSchema | boolean | undefined = at?.additionalProperties;
    at = segment === "[]" ? at?.items : (at?.properties?.[segment] ?? (typeof extra === "object" ? extra : undefined));
    if (at === undefined) return undefined;
  }
  return at;
}

function valuesOf(schema: JsonSchema | undefined): readonly string[] {
  if (schema?.enum !== undefined) return schema.enum.map(String);
  return schema?.type === "boolean" ? ["true", "false"] : [];
}

function typeOf(schema: JsonSchema): string {
  if (schema.enum !== undefined) return "one of a list";
  if (schema.type === "array") return `list of ${schema.items?.type ?? "values"}`;
  return schema.format ?? schema.type ?? "";
}
