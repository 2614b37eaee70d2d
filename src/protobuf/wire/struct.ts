import { type Field, message, string } from "./message.ts";
import { MessageBuffer } from "./message-buffer.ts";
import { WIRE_BYTES, WIRE_FIXED64, WIRE_VARINT, WireError, WireReader } from "./wire-reader.ts";

/** A JSON value, as google.protobuf.Value carries it: a bigint is rounded to a double, and never comes back. */
export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

/** Deeper input is hostile: it would end in a stack overflow. */
const MAX_DEPTH = 100;

/** google.protobuf.Struct. Objects have no prototype, so that no name means anything special. */
export function decodeStruct(bytes: Buffer, depth = 0): JsonObject {
  if (depth > MAX_DEPTH) throw new WireError("bad-field", `protobuf: Struct nested deeper than ${MAX_DEPTH}`);
  const result: Record<string, JsonValue> = Object.create(null);
  eachMember(bytes, 1, (entry) => {
    const { key, value } = entryCodec.decode(entry);
    result[key] = value === undefined ? null : decodeValue(value, depth);
  });
  return result;
}

export function encodeStruct(value: JsonObject): Buffer {
  const out = new MessageBuffer(256);
  writeStruct(out, value);
  return out.view();
}

/** The members of a google.protobuf.Struct, as part of a message under construction. */
export function writeStruct(out: MessageBuffer, value: JsonObject): void {
  for (const [key, member] of Object.entries(value)) {
    out.tag(1, WIRE_BYTES);
    const entry = out.open();
    if (key !== "") {
      out.tag(1, WIRE_BYTES);
      out.text(key);
    }
    out.tag(2, WIRE_BYTES);
    const start = out.open();
    writeValue(out, member);
    out.close(start);
    out.close(entry);
  }
}

/** Of several members of the oneof the last one counts; none is null. */
export function decodeValue(bytes: Buffer, depth = 0): JsonValue {
  let value: JsonValue = null;
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 1 && wire === WIRE_VARINT) {
      reader.uint64();
      value = null;
    } else if (field === 2 && wire === WIRE_FIXED64) value = reader.double();
    else if (field === 3 && wire === WIRE_BYTES) value = reader.string();
    else if (field === 4 && wire === WIRE_VARINT) value = reader.uint64() !== 0n;
    else if (field === 5 && wire === WIRE_BYTES) value = decodeStruct(reader.bytes(), depth + 1);
    else if (field === 6 && wire === WIRE_BYTES) value = decodeListValue(reader.bytes(), depth + 1);
    else reader.skip(wire);
  }
  return value;
}

/** The member of a google.protobuf.Value. */
export function writeValue(out: MessageBuffer, value: JsonValue): void {
  if (value === null) {
    out.tag(1, WIRE_VARINT);
    out.varint(0);
  } else if (typeof value === "number" || typeof value === "bigint") {
    out.tag(2, WIRE_FIXED64);
    out.double(Number(value));
  } else if (typeof value === "string") {
    out.tag(3, WIRE_BYTES);
    out.text(value);
  } else if (typeof value === "boolean") {
    out.tag(4, WIRE_VARINT);
    out.varint(value ? 1 : 0);
  } else {
    out.tag(isList(value) ? 6 : 5, WIRE_BYTES);
    const start = out.open();
    if (isList(value)) writeListValue(out, value);
    else writeStruct(out, value);
    out.close(start);
  }
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The value of an entry, undefined only when it is absent: an empty one is null too, but is there. */
const presentBytes: Field<Buffer | undefined> = {
  number: 2,
  absent: () => undefined,
  write: (writer, value) => {
    if (value !== undefined) writer.bytes(2, value);
  },
  read: (reader, wire) => (wire === WIRE_BYTES ? reader.bytes() : undefined),
};
const entryCodec = message({ key: string(1), value: presentBytes });

export function decodeListValue(bytes: Buffer, depth = 0): readonly JsonValue[] {
  if (depth > MAX_DEPTH) throw new WireError("bad-field", `protobuf: Struct nested deeper than ${MAX_DEPTH}`);
  const list: JsonValue[] = [];
  eachMember(bytes, 1, (value) => list.push(decodeValue(value, depth)));
  return list;
}

/** The values of a google.protobuf.ListValue. */
export function writeListValue(out: MessageBuffer, values: readonly JsonValue[]): void {
  for (const value of values) {
    out.tag(1, WIRE_BYTES);
    const start = out.open();
    writeValue(out, value);
    out.close(start);
  }
}

function eachMember(bytes: Buffer, wanted: number, take: (member: Buffer) => void): void {
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === wanted && wire === WIRE_BYTES) take(reader.bytes());
    else reader.skip(wire);
  }
}
