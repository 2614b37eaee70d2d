import { errorMessage } from "../../base/coded-error.ts";
import { parseDuration } from "../../base/duration.ts";
import { quoteGo } from "../../base/go-quote.ts";
import { formatProtoDuration } from "../proto-duration.ts";
import { decodeNumber, kindOf, NUMBER_TEXTS } from "./decode-number.ts";
import { type EnumTable, type Field, isEnum, isMessage, type MessageTable, protoName } from "./message-table.ts";

/** A value that does not fit its field: the reference's words, and where it was. */
export interface DecodeProblem {
  readonly path: string;
  readonly message: string;
  readonly value: unknown;
  readonly allowed?: string;
}

export interface DecodedMessage {
  /** The fields the document sets, by JSON name; explicit nulls and unknown keys are left out. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly problems: readonly DecodeProblem[];
  /** Paths of keys that the message does not have. */
  readonly unknown: readonly string[];
}

/** Decodes a JSON document into the fields it sets. All problems are collected; a field with a problem is left out. */
export function decodeMessage(table: MessageTable, document: unknown): DecodedMessage {
  const problems: DecodeProblem[] = [];
  const unknown: string[] = [];
  const fields = readMessage(table, document, { path: "", problems, unknown });
  return { fields, problems, unknown };
}

const DURATION_TEXT = "a duration with units, such as 45s or 1m30s";

interface Place {
  readonly path: string;
  readonly problems: DecodeProblem[];
  readonly unknown: string[];
}

type Fields = Record<string, unknown>;

function readMessage(table: MessageTable, json: unknown, place: Place): Fields {
  const result: Fields = {};
  const object = readObject(json, place);
  if (object === undefined) return result;
  const known = new Set<string>();
  for (const entry of table.fields) {
    known.add(entry.name).add(protoName(entry));
    // The JSON name wins over the proto name, even when it is null.
    const raw = Object.hasOwn(object, entry.name) ? object[entry.name] : own(object, protoName(entry));
    if (raw === undefined || raw === null) continue;
    const before = place.problems.length;
    const value = readField(entry, raw, at(place, entry.name));
    if (place.problems.length > before) continue;
    if (entry.oneof !== undefined) for (const other of membersOf(table, entry.oneof)) delete result[other.name];
    result[entry.name] = value;
  }
  for (const key of Object.keys(object)) if (!known.has(key)) place.unknown.push(at(place, key).path);
  return result;
}

function membersOf(table: MessageTable, oneof: string): readonly Field[] {
  return table.fields.filter((entry) => entry.oneof === oneof);
}

function readField(entry: Field, json: unknown, place: Place): unknown {
  if (entry.label === "list") {
    if (!Array.isArray(json))
      return fail(
        place,
        json,
        `json: cannot unmarshal ${kindOf(json)} into Go value of type []json.RawMessage`,
        "a list",
      );
    return json.map((element, index) => readValue(entry.type, element, { ...place, path: `${place.path}[${index}]` }));
  }
  if (entry.label === "map") {
    const object = readObject(json, place);
    if (object === undefined) return undefined;
    return Object.fromEntries(
      Object.entries(object).map(([key, value]) => [key, readValue(entry.type, value, at(place, key))]),
    );
  }
  return readValue(entry.type, json, place);
}

/** Inside lists and maps null is the type's zero value. */
function readValue(type: Field["type"], json: unknown, place: Place): unknown {
  if (isMessage(type)) return json === null ? {} : readMessage(type, json, place);
  if (isEnum(type)) return readEnum(type, json, place);
  switch (type) {
    case "struct":
      return asDoubles(json);
    case "string":
      if (json === null) return "";
      return typeof json === "string"
        ? json
        : fail(
            place,
            json,
            `json: cannot unmarshal ${kindOf(json)} into Go value of type string`,
            "text (put it in quotes)",
          );
    case "bool":
      if (json === null) return false;
      return typeof json === "boolean"
        ? json
        : fail(
            place,
            json,
            `json: cannot unmarshal ${kindOf(json)} into Go value of type bool`,
            "true or false, without quotes",
          );
    case "duration":
      return readDuration(json, place);
    default: {
      const number = decodeNumber(type, json);
      return "problem" in number ? fail(place, json, number.problem, NUMBER_TEXTS[type]) : number.value;
    }
  }
}

/** A Struct has no other numbers. */
function asDoubles(json: unknown): unknown {
  if (typeof json === "bigint") return Number(json);
  if (Array.isArray(json)) return json.map(asDoubles);
  if (typeof json !== "object" || json === null) return json;
  return Object.fromEntries(Object.entries(json).map(([key, member]) => [key, asDoubles(member)]));
}

function readDuration(json: unknown, place: Place): unknown {
  if (json === null) return "0s";
  if (typeof json !== "string")
    return fail(place, json, `json: cannot unmarshal ${kindOf(json)} into Go value of type string`, DURATION_TEXT);
  try {
    return formatProtoDuration(parseDuration(json));
  } catch (thrown) {
    return fail(place, json, `bad Duration: ${errorMessage(thrown)}`, DURATION_TEXT);
  }
}

/** By exact name or by number; a number without a name is kept as it is, as proto3 does. */
function readEnum(table: EnumTable, json: unknown, place: Place): unknown {
  const names = Object.keys(table.values);
  if (typeof json === "string") {
    if (Object.hasOwn(table.values, json)) return json;
    return fail(
      place,
      json,
      `unknown value ${quoteGo(JSON.stringify(json))} for enum ${table.fullName}`,
      names.join(", "),
    );
  }
  const number = decodeNumber("int32", json, "protoreflect.EnumNumber");
  if ("problem" in number) return fail(place, json, number.problem, names.join(", "));
  return names.find((name) => table.values[name] === number.value) ?? number.value;
}

/** Null never gets here: callers leave fields out or take the zero value. */
function readObject(json: unknown, place: Place): Readonly<Record<string, unknown>> | undefined {
  if (typeof json === "object" && json !== null && !Array.isArray(json)) return json as Record<string, unknown>;
  fail(
    place,
    json,
    `json: cannot unmarshal ${kindOf(json)} into Go value of type map[string]json.RawMessage`,
    "an object",
  );
  return undefined;
}

/** Keys like `constructor` must not be found on the prototype. */
function own(object: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function at(place: Place, key: string): Place {
  return { ...place, path: place.path === "" ? key : `${place.path}.${key}` };
}

function fail(place: Place, value: unknown, message: string, allowed: string): undefined {
  place.problems.push({ path: place.path, message, value, allowed });
  return undefined;
}
