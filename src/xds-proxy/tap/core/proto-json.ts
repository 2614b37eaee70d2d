import { WIRE_BYTES, WireReader } from "../../../protobuf/wire/wire-reader.ts";

/** How one field of a message is shown. */
export type Shape =
  | "string"
  | "bool"
  | "number"
  | "timestamp"
  | "struct"
  | { readonly names: Readonly<Record<number, string>> }
  | { readonly message: MessageShape }
  | { readonly list: Shape }
  | { readonly any: AnyShapes };

/** Fields by number: JSON name and shape. Fields that are not listed are left out. */
export type MessageShape = Readonly<Record<number, readonly [string, Shape]>>;
/** Messages by type URL, for what is packed into an Any. */
export type AnyShapes = Readonly<Record<string, MessageShape>>;

/** An Any holds a type that has no shape here. */
export class UnknownTypeError extends Error {}

/** A message as proto JSON. Throws an UnknownTypeError for an Any that cannot be expanded, a WireError for bytes that are no message. */
export function toProtoJson(bytes: Buffer, shape: MessageShape): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    const [name, kind] = shape[field] ?? [];
    if (name === undefined || kind === undefined) {
      reader.skip(wire);
      continue;
    }
    if (typeof kind === "object" && "list" in kind) {
      const items = (json[name] ?? []) as unknown[];
      items.push(readValue(reader, wire, kind.list));
      json[name] = items;
    } else json[name] = readValue(reader, wire, kind);
  }
  return json;
}

function readValue(reader: WireReader, wire: number, shape: Shape): unknown {
  if (wire !== WIRE_BYTES) {
    const number = reader.uint32();
    if (shape === "bool") return number !== 0;
    return typeof shape === "object" && "names" in shape ? (shape.names[number] ?? number) : number;
  }
  const bytes = reader.bytes();
  if (shape === "struct") return structJson(bytes);
  if (shape === "timestamp") return timestampJson(bytes);
  if (typeof shape === "object" && "message" in shape) return toProtoJson(bytes, shape.message);
  if (typeof shape === "object" && "any" in shape) return anyJson(bytes, shape.any);
  return bytes.toString("utf8");
}

function anyJson(bytes: Buffer, shapes: AnyShapes): Record<string, unknown> {
  const { typeUrl, value } = splitAny(bytes);
  const shape = shapes[typeUrl];
  if (shape === undefined) throw new UnknownTypeError(`no JSON form of ${typeUrl}`);
  return { "@type": typeUrl, ...toProtoJson(value, shape) };
}

export function splitAny(bytes: Buffer): { readonly typeUrl: string; readonly value: Buffer } {
  let typeUrl = "";
  let value: Buffer = Buffer.alloc(0);
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 1 && wire === WIRE_BYTES) typeUrl = reader.string();
    else if (field === 2 && wire === WIRE_BYTES) value = reader.bytes();
    else reader.skip(wire);
  }
  return { typeUrl, value };
}

/** Whole seconds print without a fraction, as everywhere in proto JSON. */
function timestampJson(bytes: Buffer): string {
  let [seconds, nanos] = [0n, 0];
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 1) seconds = reader.uint64();
    else if (field === 2) nanos = reader.uint32();
    else reader.skip(wire);
  }
  const whole = new Date(Number(BigInt.asIntN(64, seconds)) * 1000).toISOString().slice(0, 19);
  if (nanos === 0) return `${whole}Z`;
  const digits = String(nanos).padStart(9, "0");
  return `${whole}.${digits.endsWith("000000") ? digits.slice(0, 3) : digits.endsWith("000") ? digits.slice(0, 6) : digits}Z`;
}

/** google.protobuf.Struct: a map of Value. */
function structJson(bytes: Buffer): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field !== 1 || wire !== WIRE_BYTES) {
      reader.skip(wire);
      continue;
    }
    const { typeUrl: key, value } = splitAny(reader.bytes()); // a map entry has the same two fields
    json[key] = valueJson(value);
  }
  return json;
}

function valueJson(bytes: Buffer): unknown {
  const reader = new WireReader(bytes);
  let json: unknown = null;
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 2) json = reader.double();
    else if (field === 3) json = reader.string();
    else if (field === 4) json = reader.uint32() !== 0;
    else if (field === 5) json = structJson(reader.bytes());
    else if (field === 6) json = listJson(reader.bytes());
    else reader.skip(wire);
  }
  return json;
}

function listJson(bytes: Buffer): unknown[] {
  const items: unknown[] = [];
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { wire } = reader.tag();
    if (wire === WIRE_BYTES) items.push(valueJson(reader.bytes()));
    else reader.skip(wire);
  }
  return items;
}
