import type { MessageTypes } from "../gen/message-types.ts";
import { TYPE_PREFIX } from "../type-url.ts";
import { encodeStruct, encodeValue, type JsonObject, type JsonValue } from "../wire/struct.ts";
import { WIRE_BYTES, WIRE_VARINT } from "../wire/wire-reader.ts";
import { EnvoyCodecError } from "./codec-error.ts";
import {
  type FieldEntry,
  type FieldType,
  isMessageName,
  type MessageTable,
  messageTable,
  type ScalarCode,
} from "./field-table.ts";
import type { AnyMessage } from "./json-types.ts";
import { MessageBuffer } from "./message-buffer.ts";
import type { MessageName } from "./pack.ts";
import { isZero, wireOf, writeScalar } from "./scalar-codec.ts";
import { writeDuration, writeTimestamp } from "./well-known.ts";

/** The wire form of a message given in proto3 JSON form. A member that the message does not have is an error. */
export function encodeMessage<Name extends MessageName>(name: Name, value: MessageTypes[Name]): Buffer {
  return encodeUntyped(name, value);
}

/** The same of a message whose name is known only when it is met. */
export function encodeUntyped(name: string, value: object): Buffer {
  const out = new MessageBuffer();
  writeMembers(out, messageTable(name), value);
  return out.finish();
}

/** The message as an encoded google.protobuf.Any, as xDS answers carry resources. */
export function encodeAny<Name extends MessageName>(name: Name, value: MessageTypes[Name]): Buffer {
  const out = new MessageBuffer();
  writeAnyParts(out, TYPE_PREFIX + name, () => writeMembers(out, messageTable(name), value));
  return out.finish();
}

function writeMembers(out: MessageBuffer, table: MessageTable, value: object): void {
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined || member === null || name === "@type") continue;
    const field = table.byName.get(name);
    if (field === undefined) throw new EnvoyCodecError("unknown-member", `${table.name} has no member ${name}`);
    try {
      writeField(out, field, member);
    } catch (thrown) {
      throw thrown instanceof EnvoyCodecError ? inMember(thrown, name) : thrown;
    }
  }
}

function inMember(error: EnvoyCodecError, name: string): EnvoyCodecError {
  return new EnvoyCodecError(error.code, `${name}: ${error.message}`);
}

function writeField(out: MessageBuffer, field: FieldEntry, value: unknown): void {
  if (field.shape === "map") writeMap(out, field, value);
  else if (field.shape === "list") writeList(out, field, value);
  else if (!isDefault(field, value)) writeValue(out, field.number, field.type, value);
}

/** Zero of a scalar is not sent, unless its presence means something. */
function isDefault({ explicit, type }: FieldEntry, value: unknown): boolean {
  if (explicit) return false;
  if (type.kind === "scalar") return isZero(type.code, value);
  return type.kind === "enum" && enumNumber(type, value) === 0;
}

function writeList(out: MessageBuffer, field: FieldEntry, value: unknown): void {
  if (!Array.isArray(value)) {
    throw new EnvoyCodecError("bad-value", `expected a list, found ${JSON.stringify(value)}`);
  }
  const { type } = field;
  if (value.length === 0) return;
  if (!isPacked(type)) {
    for (const element of value) writeValue(out, field.number, type, element);
    return;
  }
  out.tag(field.number, WIRE_BYTES);
  const start = out.open();
  for (const element of value) writePacked(out, type, element);
  out.close(start);
}

function isPacked(type: FieldType): boolean {
  return type.kind === "enum" || (type.kind === "scalar" && wireOf(type.code) !== WIRE_BYTES);
}

function writePacked(out: MessageBuffer, type: FieldType, value: unknown): void {
  if (type.kind === "enum") out.varint(enumNumber(type, value));
  else if (type.kind === "scalar") writeScalar(out, type.code, value);
}

function writeMap(out: MessageBuffer, field: FieldEntry, value: unknown): void {
  // Sorted, so that equal maps have equal bytes.
  for (const [key, member] of Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1))) {
    out.tag(field.number, WIRE_BYTES);
    const start = out.open();
    out.tag(1, wireOf(field.key));
    writeScalar(out, field.key, field.key === "s" ? key : Number(key));
    writeValue(out, 2, field.type, member);
    out.close(start);
  }
}

function writeValue(out: MessageBuffer, number: number, type: FieldType, value: unknown): void {
  if (type.kind === "scalar") {
    out.tag(number, wireOf(type.code));
    writeScalar(out, type.code, value);
    return;
  }
  if (type.kind === "enum") {
    out.tag(number, WIRE_VARINT);
    out.varint(enumNumber(type, value));
    return;
  }
  out.tag(number, WIRE_BYTES);
  const start = out.open();
  writeNested(out, type, value);
  out.close(start);
}

function writeNested(out: MessageBuffer, type: Exclude<FieldType, { kind: "scalar" | "enum" }>, value: unknown): void {
  if (type.kind === "message") writeMembers(out, messageTable(type.name), expectObject(value));
  else if (type.kind === "wrapper") writeWrapper(out, type.code, value);
  else if (type.kind === "any") writeAny(out, expectObject(value) as AnyMessage);
  else if (type.kind === "duration") writeDuration(out, value);
  else if (type.kind === "timestamp") writeTimestamp(out, value);
  else if (type.kind === "struct") out.raw(encodeStruct(expectObject(value) as JsonObject));
  else out.raw(encodeValue(value as JsonValue));
}

function writeWrapper(out: MessageBuffer, code: ScalarCode, value: unknown): void {
  if (isZero(code, value)) return;
  out.tag(1, wireOf(code));
  writeScalar(out, code, value);
}

function writeAny(out: MessageBuffer, value: AnyMessage): void {
  const url = value["@type"];
  if (typeof url !== "string") throw new EnvoyCodecError("bad-value", `"@type" is missing`);
  const name = url.slice(url.lastIndexOf("/") + 1);
  if (isMessageName(name)) writeAnyParts(out, url, () => writeMembers(out, messageTable(name), value));
  else if (name === "google.protobuf.Struct") {
    writeAnyParts(out, url, () => out.raw(encodeStruct(expectObject(value.value) as JsonObject)));
  } else throw new EnvoyCodecError("unknown-message", `no message is known by the name ${name}`);
}

function writeAnyParts(out: MessageBuffer, url: string, writeBody: () => void): void {
  out.tag(1, WIRE_BYTES);
  out.text(url);
  out.tag(2, WIRE_BYTES);
  const start = out.open();
  writeBody();
  out.close(start);
}

function expectObject(value: unknown): object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new EnvoyCodecError("bad-value", `expected an object, found ${JSON.stringify(value)}`);
}

function enumNumber(type: Extract<FieldType, { kind: "enum" }>, value: unknown): number {
  if (typeof value === "number") return value;
  const number = type.table.numbers.get(String(value));
  if (number !== undefined) return number;
  const allowed = [...type.table.numbers.keys()].join(", ");
  throw new EnvoyCodecError("bad-value", `expected one of ${allowed}, found ${JSON.stringify(value)}`);
}
