import { isJsonObject } from "../../base/json-object.ts";
import { CodecError } from "../codec-error.ts";
import type { AnyMessage } from "../json-types.ts";
import {
  type EnumTable,
  type FieldEntry,
  type FieldType,
  type MessageTable,
  type ScalarCode,
  WELL_KNOWN,
} from "../message-tables.ts";
import { MessageBuffer } from "../wire/message-buffer.ts";
import {
  type JsonObject,
  type JsonValue,
  writeValue as writeJson,
  writeListValue,
  writeStruct,
} from "../wire/struct.ts";
import { WIRE_BYTES, WIRE_VARINT } from "../wire/wire-reader.ts";
import { isZero, wireOf, writeScalar } from "./scalar-codec.ts";
import { writeDuration, writeTimestamp } from "./time-codec.ts";

const EMPTY = "google.protobuf.Empty";

/** The wire form of constants, by the table that they were written with. */
const CONSTANTS = new WeakMap<object, Map<MessageTable, Buffer>>();

/** A message that is part of thousands of others as it is. It is encoded once. */
export function constantMessage<Message extends object>(message: Message): Message {
  CONSTANTS.set(message, new Map());
  return Object.freeze(message);
}

/** The wire form of a message given in proto3 JSON form. A member that the message does not have is an error. */
export function encodeMessage(table: MessageTable, value: object): Buffer {
  const out = new MessageBuffer();
  writeMembers(out, table, value);
  return out.finish();
}

/** The message as an encoded google.protobuf.Any, as xDS responses carry resources. */
export function encodeAny(url: string, table: MessageTable, value: object): Buffer {
  const out = new MessageBuffer();
  writeAnyParts(out, url, () => writeMembers(out, table, value));
  return out.finish();
}

function writeMembers(out: MessageBuffer, table: MessageTable, value: object): void {
  // Messages are plain objects. A list of their entries would take longer than the writing (`bench/discovery`).
  for (const name in value) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (member === undefined || member === null || name === "@type") continue;
    const field = table.byName.get(name);
    if (field === undefined) throw new CodecError("unknown-member", `${table.name} has no member ${name}`);
    try {
      writeField(out, field, member, table);
    } catch (thrown) {
      throw thrown instanceof CodecError ? inMember(thrown, name) : thrown;
    }
  }
}

function inMember(error: CodecError, name: string): CodecError {
  return new CodecError(error.code, `${name}: ${error.message}`);
}

function writeField(out: MessageBuffer, field: FieldEntry, value: unknown, owner: MessageTable): void {
  if (field.shape === "map") writeMap(out, field, value, owner);
  else if (field.shape === "list") writeList(out, field, value, owner);
  else if (!isDefault(field, value)) writeValue(out, field.number, field.type, value, owner);
}

/** Zero of a scalar is not sent, unless its presence means something. */
function isDefault({ explicit, type }: FieldEntry, value: unknown): boolean {
  if (explicit) return false;
  if (type.kind === "scalar") return isZero(type.code, value);
  return type.kind === "enum" && enumNumber(type.table, value) === 0;
}

function writeList(out: MessageBuffer, field: FieldEntry, value: unknown, owner: MessageTable): void {
  if (!Array.isArray(value)) {
    throw new CodecError("bad-value", `expected a list, found ${JSON.stringify(value)}`);
  }
  const { type } = field;
  if (value.length === 0) return;
  if (!isPacked(type)) {
    for (const element of value) writeValue(out, field.number, type, element, owner);
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
  if (type.kind === "enum") writeEnum(out, type.table, value);
  else if (type.kind === "scalar") writeScalar(out, type.code, value);
}

function writeMap(out: MessageBuffer, field: FieldEntry, value: unknown, owner: MessageTable): void {
  // Sorted, so that equal maps have equal bytes.
  for (const [key, member] of Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1))) {
    out.tag(field.number, WIRE_BYTES);
    const start = out.open();
    out.tag(1, wireOf(field.key));
    writeScalar(out, field.key, field.key === "s" ? key : Number(key));
    writeValue(out, 2, field.type, member, owner);
    out.close(start);
  }
}

function writeValue(out: MessageBuffer, number: number, type: FieldType, value: unknown, owner: MessageTable): void {
  if (type.kind === "scalar") {
    out.tag(number, wireOf(type.code));
    writeScalar(out, type.code, value);
    return;
  }
  if (type.kind === "enum") {
    out.tag(number, WIRE_VARINT);
    writeEnum(out, type.table, value);
    return;
  }
  out.tag(number, WIRE_BYTES);
  const start = out.open();
  writeNested(out, type, value, owner);
  out.close(start);
}

function writeNested(
  out: MessageBuffer,
  type: Exclude<FieldType, { kind: "scalar" | "enum" }>,
  value: unknown,
  owner: MessageTable,
): void {
  if (type.kind === "message") writeMessage(out, type.table, expectObject(value));
  else if (type.kind === "wrapper") writeWrapper(out, type.code, value);
  else if (type.kind === "any") writeAny(out, expectObject(value) as AnyMessage, owner);
  else if (type.kind === "duration") writeDuration(out, value);
  else if (type.kind === "timestamp") writeTimestamp(out, value);
  else if (type.kind === "struct") writeStruct(out, expectObject(value) as JsonObject);
  else if (type.kind === "list") writeListValue(out, value as readonly JsonValue[]);
  else writeJson(out, value as JsonValue);
}

function writeMessage(out: MessageBuffer, table: MessageTable, value: object): void {
  const known = Object.isExtensible(value) ? undefined : CONSTANTS.get(value);
  if (known === undefined) {
    writeMembers(out, table, value);
    return;
  }
  let bytes = known.get(table);
  if (bytes === undefined) {
    bytes = encodeMessage(table, value);
    known.set(table, bytes);
  }
  out.raw(bytes);
}

function writeWrapper(out: MessageBuffer, code: ScalarCode, value: unknown): void {
  if (isZero(code, value)) return;
  out.tag(1, wireOf(code));
  writeScalar(out, code, value);
}

/** An empty object is an Any without a type. */
function writeAny(out: MessageBuffer, value: AnyMessage, owner: MessageTable): void {
  const { "@type": url, value: content } = value;
  if (typeof url !== "string") {
    if (Object.keys(value).length === 0) return;
    throw new CodecError("bad-value", `"@type" is missing`);
  }
  const name = url.slice(url.lastIndexOf("/") + 1);
  const known = WELL_KNOWN.get(name);
  if (owner.tables.has(name)) {
    writeAnyParts(out, url, () => writeMembers(out, owner.tables.message(name), value));
  } else if (known !== undefined && known.kind !== "scalar" && known.kind !== "enum") {
    writeAnyParts(out, url, () => writeNested(out, known, content, owner));
  } else if (name === EMPTY) writeAnyParts(out, url, () => undefined);
  else throw new CodecError("unknown-message", `no message is known by the name ${name}`);
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
  if (isJsonObject(value)) return value;
  throw new CodecError("bad-value", `expected an object, found ${JSON.stringify(value)}`);
}

/** Numbers without a name are written as they are. */
function writeEnum(out: MessageBuffer, table: EnumTable, value: unknown): void {
  const number = enumNumber(table, value);
  if (number < 0) out.varint64(BigInt(number));
  else out.varint(number);
}

function enumNumber(table: EnumTable, value: unknown): number {
  if (typeof value === "number") return value;
  const number = table.numbers.get(String(value));
  if (number !== undefined) return number;
  const allowed = [...table.numbers.keys()].join(", ");
  throw new CodecError("bad-value", `expected one of ${allowed}, found ${JSON.stringify(value)}`);
}
