import { isList, type JsonObject, type JsonValue } from "../../protobuf/wire/struct.ts";
import { WireWriter } from "../../protobuf/wire/wire-writer.ts";
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
    const index = typeof value === "string" ? BigInt(names.indexOf(value)) : asInteger(value, path, INT32);
    if (typeof value === "string" && index < 0n)
      throw wrong(path, `${JSON.stringify(value)} is none of ${names.join(", ")}`);
    // Numbers that have no name yet are allowed, also negative ones.
    if (index !== 0n) writer.int64(number, index);
  },
});

export const member = (number: number, message: JsonMessage, oneof?: string): JsonField => ({
  ...(oneof !== undefined && { oneof }),
  write: (writer, value, path) => writer.bytes(number, message.encode(value, path)),
});

export const integer64 = (number: number): JsonField => ({
  write: (writer, value, path) => writer.int64(number, asInteger(value, path, INT64)),
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

export interface IntegerRange {
  readonly least: bigint;
  readonly most: bigint;
}

export const INT32: IntegerRange = { least: -(2n ** 31n), most: 2n ** 31n - 1n };
export const UINT32: IntegerRange = { least: 0n, most: 2n ** 32n - 1n };
export const INT64: IntegerRange = { least: -(2n ** 63n), most: 2n ** 63n - 1n };
export const UINT64: IntegerRange = { least: 0n, most: 2n ** 64n - 1n };

/** Proto JSON writes large integers as text, and takes any number of JSON that has no fraction, so all forms are read. */
export function asInteger(value: JsonValue, path: string, { least, most }: IntegerRange): bigint {
  const integer = toInteger(value);
  if (integer === undefined) throw wrong(path, `${shown(value)} is no integer`);
  if (integer < least || integer > most) throw wrong(path, "out of range");
  return integer;
}

function toInteger(value: JsonValue): bigint | undefined {
  if (typeof value === "string" && DIGITS.test(value)) return BigInt(value);
  const number = toNumber(value);
  return number !== undefined && Number.isInteger(number) ? BigInt(number) : undefined;
}

/** A number, or the text of one. */
export function toNumber(value: JsonValue): number | undefined {
  if (typeof value === "string") return JSON_NUMBER.test(value) ? Number(value) : undefined;
  return typeof value === "number" ? value : undefined;
}

const DIGITS = /^-?(?:0|[1-9]\d{0,19})$/;
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,4})?$/;

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
