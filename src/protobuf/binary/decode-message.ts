import { type FieldEntry, type FieldType, type MessageTable, WELL_KNOWN } from "../message-tables.ts";
import { decodeListValue, decodeStruct, decodeValue } from "../wire/struct.ts";
import { WIRE_BYTES, WIRE_VARINT, WireError, WireReader } from "../wire/wire-reader.ts";
import { readScalar, wireOf } from "./scalar-codec.ts";
import { readDuration, readTimestamp } from "./time-codec.ts";

/** Deeper input is hostile: it would end in a stack overflow. */
const MAX_DEPTH = 100;

/** A message in canonical proto3 JSON form: zero values are absent, unknown fields are passed over. */
export function decodeMessage(table: MessageTable, bytes: Buffer): Record<string, unknown> {
  return readMessage(table, bytes, 0);
}

type Members = Record<string, unknown>;

function readMessage(table: MessageTable, bytes: Buffer, depth: number): Members {
  if (depth > MAX_DEPTH) throw new WireError("bad-field", `protobuf: ${table.name} is nested deeper than ${MAX_DEPTH}`);
  const message: Members = {};
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field: number, wire } = reader.tag();
    const field = table.byNumber.get(number);
    if (field === undefined || !readField(message, field, reader, wire, { owner: table, depth })) reader.skip(wire);
  }
  return message;
}

/** Which message a value is in, for what an Any may hold, and how deep. */
interface Where {
  readonly owner: MessageTable;
  readonly depth: number;
}

/** False for a wire type that does not fit the field. */
function readField(message: Members, field: FieldEntry, reader: WireReader, wire: number, where: Where): boolean {
  const expected = field.shape === "map" ? WIRE_BYTES : wireOfType(field.type);
  if (field.shape === "list" && wire === WIRE_BYTES && expected !== WIRE_BYTES) {
    const list = listOf(message, field.name);
    const packed = new WireReader(reader.bytes());
    while (!packed.atEnd) list.push(readValue(packed, field.type, where));
    return true;
  }
  if (wire !== expected) return false;
  if (field.shape === "map") readEntry(message, field, reader.bytes(), where);
  else if (field.shape === "list") listOf(message, field.name).push(readValue(reader, field.type, where));
  else message[field.name] = readValue(reader, field.type, where);
  return true;
}

function listOf(message: Members, name: string): unknown[] {
  const list = message[name];
  if (Array.isArray(list)) return list;
  const fresh: unknown[] = [];
  message[name] = fresh;
  return fresh;
}

function readEntry(message: Members, field: FieldEntry, bytes: Buffer, where: Where): void {
  let key: unknown = field.key === "s" ? "" : 0;
  let value: unknown;
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field: number, wire } = reader.tag();
    if (number === 1 && wire === wireOf(field.key)) key = readScalar(reader, field.key);
    else if (number === 2 && wire === wireOfType(field.type)) value = readValue(reader, field.type, where);
    else reader.skip(wire);
  }
  const known = message[field.name];
  const entries = typeof known === "object" && known !== null ? (known as Members) : {};
  message[field.name] = { ...entries, [String(key)]: value ?? absentValue(field.type, where) };
}

/** A map's value that is zero may be left out of its entry. */
function absentValue(type: FieldType, where: Where): unknown {
  if (type.kind === "scalar") return readZero(type.code);
  if (type.kind === "enum") return type.table.names.get(0);
  return readNested(type, Buffer.alloc(0), where);
}

function readZero(code: string): unknown {
  if (code === "s" || code === "y") return "";
  // JSON has 64-bit integers as text.
  if (code === "I" || code === "U") return "0";
  return code === "b" ? false : 0;
}

function wireOfType(type: FieldType): number {
  if (type.kind === "scalar") return wireOf(type.code);
  return type.kind === "enum" ? WIRE_VARINT : WIRE_BYTES;
}

function readValue(reader: WireReader, type: FieldType, where: Where): unknown {
  if (type.kind === "scalar") return readScalar(reader, type.code);
  if (type.kind !== "enum") return readNested(type, reader.bytes(), where);
  const number = reader.uint32();
  return type.table.names.get(number) ?? number;
}

function readNested(type: Exclude<FieldType, { kind: "scalar" | "enum" }>, bytes: Buffer, where: Where): unknown {
  switch (type.kind) {
    case "message":
      return readMessage(type.table, bytes, where.depth + 1);
    case "wrapper":
      return readWrapper(type.code, bytes);
    case "any":
      return readAny(bytes, where);
    case "duration":
      return readDuration(bytes);
    case "timestamp":
      return readTimestamp(bytes);
    case "struct":
      return decodeStruct(bytes);
    case "value":
      return decodeValue(bytes);
    case "list":
      return decodeListValue(bytes);
  }
}

function readWrapper(code: Parameters<typeof readScalar>[1], bytes: Buffer): unknown {
  let value = readZero(code);
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 1 && wire === wireOf(code)) value = readScalar(reader, code);
    else reader.skip(wire);
  }
  return value;
}

/** A message of a type that is not in the tables keeps its bytes, as base64. */
function readAny(bytes: Buffer, where: Where): Members {
  let url = "";
  let value: Buffer = Buffer.alloc(0);
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 1 && wire === WIRE_BYTES) url = reader.string();
    else if (field === 2 && wire === WIRE_BYTES) value = reader.bytes();
    else reader.skip(wire);
  }
  const name = url.slice(url.lastIndexOf("/") + 1);
  const { tables } = where.owner;
  if (tables.has(name)) return { "@type": url, ...readMessage(tables.message(name), value, where.depth + 1) };
  const known = WELL_KNOWN.get(name);
  if (known !== undefined && known.kind !== "scalar" && known.kind !== "enum") {
    return { "@type": url, value: readNested(known, value, { ...where, depth: where.depth + 1 }) };
  }
  return { "@type": url, value: value.toString("base64") };
}
