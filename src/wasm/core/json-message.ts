import { isList, type JsonObject, type JsonValue } from "../../protocol/protobuf/struct.ts";
import { WireWriter } from "../../protocol/protobuf/wire-writer.ts";
import { WasmError } from "../wasm-error.ts";

/** Reads a message's proto JSON strictly and gives its encoding. `path` is for the error: where in the document it is. */
export interface JsonMessage {
  encode(value: JsonValue, path: string): Buffer;
}

export interface JsonField {
  write(writer: WireWriter, value: JsonValue, path: string): void;
  /** Of the fields with the same name here at most one may be set; such a field is sent also when it is empty. */
  readonly oneof?: string;
}

/** Field names as in the .proto; JSON may use them or their camel case form, and nothing else. */
export function jsonMessage(name: string, fields: Readonly<Record<string, JsonField>>): JsonMessage {
  const byName = new Map<string, { readonly canonical: string; readonly field: JsonField }>();
  for (const [canonical, field] of Object.entries(fields)) {
    byName.set(canonical, { canonical, field });
    byName.set(camelCase(canonical), { canonical, field });
  }
  return {
    encode(value, path) {
      const writer = new WireWriter();
      const seen = new Set<string>();
      for (const [key, member] of Object.entries(asObject(value, path))) {
        const known = byName.get(key);
        if (known === undefined) throw wrong(path, `unknown field ${JSON.stringify(key)} in ${name}`);
        // Null stands for the field's default, as everywhere in proto JSON.
        if (member === null) continue;
        const slot = known.field.oneof ?? known.canonical;
        if (seen.has(slot)) throw wrong(path, `${JSON.stringify(key)} is set a second time in ${name}`);
        seen.add(slot);
        known.field.write(writer, member, `${path}.${key}`);
      }
      return writer.finish();
    },
  };
}

export const text = (number: number, oneof?: string): JsonField => ({
  ...(oneof !== undefined && { oneof }),
  write: (writer, value, path) => {
    const string = asString(value, path);
    if (string !== "" || oneof !== undefined) writer.string(number, string);
  },
});

export const base64 = (number: number, oneof?: string): JsonField => ({
  ...(oneof !== undefined && { oneof }),
  write: (writer, value, path) => {
    const bytes = decodeBase64(asString(value, path), path);
    if (bytes.length > 0 || oneof !== undefined) writer.bytes(number, bytes);
  },
});

export const flag = (number: number): JsonField => ({
  write: (writer, value, path) => {
    if (asBoolean(value, path)) writer.uint32(number, 1);
  },
});

/** Enum values by name or number. */
export const enumeration = (number: number, names: readonly string[]): JsonField => ({
  write: (writer, value, path) => {
    const index = typeof value === "string" ? names.indexOf(value) : asInteger(value, path);
    if (index < 0) throw wrong(path, `${JSON.stringify(value)} is none of ${names.join(", ")}`);
    if (index !== 0) writer.uint32(number, index);
  },
});

export const member = (number: number, message: JsonMessage, oneof?: string): JsonField => ({
  ...(oneof !== undefined && { oneof }),
  write: (writer, value, path) => writer.bytes(number, message.encode(value, path)),
});

export const integer64 = (number: number): JsonField => ({
  write: (writer, value, path) => writer.int64(number, BigInt(asInteger(value, path))),
});

/** The item must be a field that writes even its zero value; here those are texts of a oneof and messages. */
export const listOf = (item: JsonField): JsonField => ({
  write: (writer, value, path) => {
    if (!isList(value)) throw wrong(path, `${shown(value)} is no list`);
    value.forEach((entry, index) => {
      item.write(writer, entry, `${path}[${index}]`);
    });
  },
});

/** map<string, V>; `value` is field 2 of each entry. */
export const mapOf = (number: number, value: JsonField): JsonField => ({
  write: (writer, entries, path) => {
    for (const [key, entry] of Object.entries(asObject(entries, path))) {
      const inner = new WireWriter();
      inner.string(1, key);
      value.write(inner, entry, `${path}[${JSON.stringify(key)}]`);
      writer.bytes(number, inner.finish());
    }
  },
});

export function asObject(value: JsonValue, path: string): JsonObject {
  if (value === null || typeof value !== "object" || isList(value)) throw wrong(path, `${shown(value)} is no object`);
  return value;
}

export function asString(value: JsonValue, path: string): string {
  if (typeof value !== "string") throw wrong(path, `${shown(value)} is no string`);
  return value;
}

export function asBoolean(value: JsonValue, path: string): boolean {
  if (typeof value !== "boolean") throw wrong(path, `${shown(value)} is neither true nor false`);
  return value;
}

/** Proto JSON writes large integers as text, so both forms are read. */
export function asInteger(value: JsonValue, path: string): number {
  const number = typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !Number.isSafeInteger(number)) throw wrong(path, `${shown(value)} is no integer`);
  return number;
}

/** Standard and URL alphabet, with or without padding. */
export function decodeBase64(value: string, path: string): Buffer {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(value)) throw wrong(path, "not base64");
  return Buffer.from(value, "base64");
}

export function wrong(path: string, what: string): WasmError {
  return new WasmError("invalid-config", `${path}: ${what}`);
}

/** Kinds only, never values: a configuration may carry secrets. */
function shown(value: JsonValue): string {
  if (value === null) return "null";
  if (isList(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_all, letter: string) => letter.toUpperCase());
}
