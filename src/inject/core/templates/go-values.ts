import { parseDuration } from "../../../base/duration.ts";
import { isJsonObject } from "../../../base/json-object.ts";
import type { FieldEntry, MessageTable } from "../../../protobuf/message-tables.ts";
import { GoEnum, GoStruct } from "../../../template/index.ts";
import { asObject } from "../json.ts";
import { kubernetesType, type MemberType } from "../schema/schema.ts";

/** A Go map[string]string: a key that is not there reads as empty text. */
class TextMap extends Map<string, unknown> {
  override get(key: string): unknown {
    return super.get(key) ?? "";
  }
}

/** A Kubernetes object as templates know it: fields by their Go names, unset ones with Go's zero values. */
export function goObject(typeName: string, value: unknown, isPointer = false): GoStruct {
  const given = asObject(value);
  const fields = new Map<string, unknown>();
  for (const { name, goName, type } of kubernetesType(typeName).members.values()) {
    fields.set(goName, goMember(type, given[name]));
  }
  return new GoStruct(`${isPointer ? "*" : ""}v1.${typeName}`, fields, given, JSON.stringify(given));
}

const ZEROS: Readonly<Record<string, unknown>> = { s: "", i: 0, b: false, q: "0", x: 0, t: "", any: null };

function goMember(type: MemberType, value: unknown): unknown {
  switch (type.kind) {
    case "struct":
      return type.pointer && !isJsonObject(value) ? null : goObject(type.name, value, type.pointer);
    case "list":
      return Array.isArray(value) ? value.map((item) => goMember(type.item, item)) : [];
    case "map":
      return new TextMap(Object.entries(asObject(value)));
    case "scalar":
      return value ?? (type.pointer ? null : ZEROS[type.code]);
  }
}

/** A protobuf message (mesh or proxy configuration) as templates know it, with its getters. */
export function goMessage(table: MessageTable, values: Readonly<Record<string, unknown>>): GoStruct {
  const fields = new Map<string, unknown>();
  for (const field of table.byName.values()) {
    const value = goField(field, values[field.name]);
    const name = field.name.slice(0, 1).toUpperCase() + field.name.slice(1);
    fields.set(name, value);
    fields.set(`Get${name}`, value);
  }
  return new GoStruct(`*${table.name}`, fields, values, JSON.stringify(values));
}

function goField({ shape, type }: FieldEntry, value: unknown): unknown {
  if (shape === "list") {
    const items = Array.isArray(value) ? value : [];
    return type.kind === "message" ? items.map((item) => goMessage(type.table, asObject(item))) : items;
  }
  if (shape === "map") return new TextMap(Object.entries(asObject(value)));
  switch (type.kind) {
    case "scalar":
      if (type.code === "b") return value ?? false;
      return value ?? (type.code === "s" ? "" : 0);
    case "enum": {
      const label = typeof value === "string" ? value : (type.table.names.get(0) ?? "");
      return new GoEnum(type.table.name, label, type.table.numbers.get(label) ?? 0);
    }
    case "duration":
      return typeof value === "string" ? goDuration(value) : null;
    case "message":
      return isJsonObject(value) ? goMessage(type.table, value) : null;
    default:
      return wrapper(value);
  }
}

/** A wrapper's getter works on nothing too. */
function wrapper(value: unknown): GoStruct {
  const shown = value ?? false;
  const fields = new Map([
    ["Value", shown],
    ["GetValue", shown],
  ]);
  return new GoStruct("*wrapperspb.Value", fields, value, `value:${String(shown)}`);
}

function goDuration(text: string): GoStruct {
  const nanoseconds = parseDuration(text);
  const fields = new Map([
    ["Seconds", Number(nanoseconds / 1_000_000_000n)],
    ["Nanos", Number(nanoseconds % 1_000_000_000n)],
  ]);
  return new GoStruct("*durationpb.Duration", fields, text, text);
}
