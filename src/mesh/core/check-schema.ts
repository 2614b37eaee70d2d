import { isJsonObject } from "../../base/json-object.ts";
import { suggest } from "../../base/suggest.ts";

/** The part of JSON Schema that our own schema uses. */
export interface JsonSchema {
  readonly $schema?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: JsonType | readonly JsonType[];
  readonly enum?: readonly string[];
  readonly pattern?: string;
  /** What editors and we say instead of the pattern. */
  readonly patternErrorMessage?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly minProperties?: number;
  readonly propertyNames?: JsonSchema;
  /** False: only the named properties. */
  readonly additionalProperties?: JsonSchema | false;
}

type JsonType = "string" | "number" | "integer" | "boolean" | "object" | "array";

export type Path = readonly (string | number)[];

export interface SchemaProblem {
  readonly path: Path;
  readonly text: string;
  /** Nothing of this name is allowed where it stands. */
  readonly unknownMember?: string;
}

/** Every way in which a value breaks the schema, in the order of the value; nothing below a value of the wrong type. */
export function checkSchema(schema: JsonSchema, value: unknown, path: Path = []): readonly SchemaProblem[] {
  const says = (text: string): readonly SchemaProblem[] => [{ path, text }];
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => hasType(value, type))) {
    return says(`is ${describe(value)}, expected ${types.map(article).join(" or ")}`);
  }
  if (schema.enum !== undefined && !schema.enum.some((allowed) => allowed === value)) {
    return says(`is ${describe(value)}, allowed are ${schema.enum.join(", ")}`);
  }
  if (typeof value === "string") return says(textProblem(schema, value)).filter(({ text }) => text !== "");
  if (typeof value === "number") return says(numberProblem(schema, value)).filter(({ text }) => text !== "");
  if (Array.isArray(value)) {
    if (value.length < (schema.minItems ?? 0)) return says("is empty");
    return value.flatMap((item, index) => (schema.items ? checkSchema(schema.items, item, [...path, index]) : []));
  }
  return isJsonObject(value) ? checkMembers(schema, value, path) : [];
}

function checkMembers(schema: JsonSchema, value: Record<string, unknown>, path: Path): readonly SchemaProblem[] {
  const { properties = {}, additionalProperties, propertyNames, required = [] } = schema;
  const keys = Object.keys(value);
  const problems: SchemaProblem[] = [];
  for (const name of required) if (!(name in value)) problems.push({ path, text: `${name} is missing` });
  if (keys.length < (schema.minProperties ?? 0)) problems.push({ path, text: "is empty" });
  for (const key of keys) {
    const at = [...path, key];
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (propertyNames !== undefined) {
      const wrong = textProblem(propertyNames, key);
      if (wrong !== "") problems.push({ path: at, text: `the name ${wrong}` });
    }
    if (known !== undefined) problems.push(...checkSchema(known, value[key], at));
    else if (additionalProperties === false)
      problems.push({ path: at, text: unknownText(key, properties), unknownMember: key });
    else if (additionalProperties !== undefined) problems.push(...checkSchema(additionalProperties, value[key], at));
  }
  return problems;
}

function unknownText(key: string, properties: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(properties);
  const [near] = suggest(key, names);
  return `${JSON.stringify(key)} is not known here${near === undefined ? `, allowed are ${names.join(", ")}` : `; did you mean ${near}?`}`;
}

function textProblem({ pattern, patternErrorMessage, minLength = 0 }: JsonSchema, value: string): string {
  if (value.length < minLength) return "is empty";
  return pattern === undefined || new RegExp(pattern, "u").test(value)
    ? ""
    : `is ${JSON.stringify(value)}, ${patternErrorMessage ?? `which does not match ${pattern}`}`;
}

function numberProblem({ minimum, maximum }: JsonSchema, value: number): string {
  const isWithin = value >= (minimum ?? value) && value <= (maximum ?? value);
  return isWithin ? "" : `is ${value}, allowed are ${minimum} to ${maximum}`;
}

function hasType(value: unknown, type: JsonType): boolean {
  switch (type) {
    case "object":
      return isJsonObject(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function article(type: JsonType): string {
  return /^[aio]/.test(type) ? `an ${type}` : `a ${type}`;
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return "empty";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : JSON.stringify(value);
}
