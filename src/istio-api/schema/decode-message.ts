import { errorMessage } from "../../base/coded-error.ts";
import { parseDuration } from "../../base/duration.ts";
import { formatProtoDuration } from "../../protobuf/proto-duration.ts";
import { decodeNumber, describe } from "./decode-number.ts";
import type { EnumSchema, FieldSchema, Infer, MapSchema, MessageSchema, Schema } from "./schema.ts";

/** Where in a document: member names and list positions. */
export type Path = readonly (string | number)[];

export interface Problem {
  readonly path: Path;
  readonly message: string;
  /** A warning does not keep the object out. */
  readonly severity: "error" | "warning";
}

export interface Decoded<Value> {
  /** Of use only when no problem is an error: members with errors hold their zero value. */
  readonly value: Value;
  readonly problems: readonly Problem[];
}

/** Reads JSON data into a message. Everything that is wrong is told at once; a member the message does not have is a warning. */
export function decodeMessage<Of extends MessageSchema<unknown>>(
  schema: Of,
  data: unknown,
  path: Path = [],
): Decoded<Infer<Of>> {
  const problems: Problem[] = [];
  const value = readMessage(schema, data, { path, problems });
  return { value: value as Infer<Of>, problems };
}

interface Place {
  readonly path: Path;
  readonly problems: Problem[];
}

function readMessage(schema: MessageSchema<unknown>, data: unknown, place: Place): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  const object = readObject(data, place, schema.label);
  const known = new Set<string>();
  for (const field of schema.fields.values()) {
    known.add(field.name).add(field.protoName);
    const key = Object.hasOwn(object, field.name) ? field.name : field.protoName;
    const raw = Object.hasOwn(object, key) ? object[key] : undefined;
    if (raw !== undefined && raw !== null) result[field.name] = readValue(field.schema, raw, at(place, key));
    else if (!field.optional) result[field.name] = zeroOf(field);
  }
  for (const key of Object.keys(object)) {
    if (!known.has(key)) warn(at(place, key), `unknown field ${JSON.stringify(key)} in ${schema.label}, it is ignored`);
  }
  for (const group of schema.oneofs) {
    const set = group.filter((name) => result[name] !== undefined);
    if (set.length > 1) fail(place, `only one of ${group.join(", ")} may be set, found ${set.join(" and ")}`);
  }
  return result;
}

function readValue(schema: Schema, data: unknown, place: Place): unknown {
  switch (schema.type) {
    case "message":
      return readMessage(schema, data, place);
    case "list":
      if (!Array.isArray(data)) return fail(place, `expected a list, found ${describe(data)}`) ?? [];
      return data.map((element, index) => readElement(schema.element, element, at(place, index)));
    case "map":
      return readMap(schema, data, place);
    case "enum":
      return readEnum(schema, data, place);
    case "json":
      return data;
    case "string":
    case "bytes":
      if (typeof data === "string") return data;
      return fail(place, `expected text, found ${describe(data)}${quoteHint(data)}`) ?? "";
    case "bool":
      return typeof data === "boolean"
        ? data
        : (fail(place, `expected true or false, found ${describe(data)}`) ?? false);
    case "duration":
      return readDuration(data, place);
    default: {
      const number = decodeNumber(schema.type, data);
      return typeof number === "number" ? number : (fail(place, number.problem) ?? 0);
    }
  }
}

function readElement(schema: Schema, data: unknown, place: Place): unknown {
  if (data !== null) return readValue(schema, data, place);
  const label = schema.type === "message" ? schema.label : "element";
  return fail(place, `${label} may not be null`) ?? (schema.type === "message" ? readMessage(schema, {}, place) : "");
}

function readMap(schema: MapSchema<unknown>, data: unknown, place: Place): Record<string, unknown> {
  const entries = Object.entries(readObject(data, place, "a map")).map(([key, element]) => {
    const inside = at(place, key);
    if (schema.key === "uint32" && !/^\d+$/.test(key))
      fail(inside, `expected a number as key, found ${JSON.stringify(key)}`);
    // A key without value is the type's zero value, as in `headers: {x-present: }`.
    return [key, element === null ? zero(schema.element, inside) : readValue(schema.element, element, inside)] as const;
  });
  return Object.fromEntries(entries);
}

function readEnum(schema: EnumSchema<unknown>, data: unknown, place: Place): string {
  const first = schema.names[0] ?? "";
  if (typeof data === "string" && schema.names.includes(data)) return data;
  const numbered = typeof data === "number" ? schema.names[data] : undefined;
  if (numbered !== undefined) return numbered;
  return fail(place, `unknown value ${JSON.stringify(data)}; allowed: ${schema.names.join(", ")}`) ?? first;
}

function readDuration(data: unknown, place: Place): string {
  if (typeof data !== "string") return fail(place, `expected a duration like "1.5s", found ${describe(data)}`) ?? "0s";
  try {
    return formatProtoDuration(parseDuration(data));
  } catch (thrown) {
    return fail(place, `expected a duration like "1.5s": ${errorMessage(thrown)}`) ?? "0s";
  }
}

function readObject(data: unknown, place: Place, label: string): Readonly<Record<string, unknown>> {
  if (typeof data === "object" && data !== null && !Array.isArray(data)) return data as Record<string, unknown>;
  return fail(place, `expected an object (${label}), found ${describe(data)}`) ?? {};
}

function zeroOf({ schema }: FieldSchema): unknown {
  return zero(schema, { path: [], problems: [] });
}

function zero(schema: Schema, place: Place): unknown {
  switch (schema.type) {
    case "message":
      return readMessage(schema, {}, place);
    case "list":
      return [];
    case "map":
      return {};
    case "enum":
      return schema.names[0];
    case "string":
    case "bytes":
      return "";
    case "bool":
      return false;
    case "duration":
      return "0s";
    case "json":
      return null;
    default:
      return 0;
  }
}

/** YAML reads bare `1` and `true` as number and boolean, the usual reason for text that is none. */
function quoteHint(data: unknown): string {
  return typeof data === "number" || typeof data === "boolean" ? "; put it in quotes" : "";
}

function at(place: Place, key: string | number): Place {
  return { path: [...place.path, key], problems: place.problems };
}

function fail(place: Place, message: string): undefined {
  place.problems.push({ path: place.path, message, severity: "error" });
  return undefined;
}

function warn(place: Place, message: string): void {
  place.problems.push({ path: place.path, message, severity: "warning" });
}
