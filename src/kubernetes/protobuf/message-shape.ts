import { WIRE_BYTES, WIRE_VARINT, WireReader } from "../../protobuf/wire/wire-reader.ts";

/**
 * The members of a message that are read, by field number; everything else is passed over by its length. That is what makes the form
 * cheap: of a pod's JSON every byte has to be looked at, also of the nine tenths that are not read (bench/kubernetes).
 */
export type MessageShape = ReadonlyMap<number, MemberShape>;

/** `word`: a text that many objects have, which is in memory once. */
type Scalar = "text" | "word" | "number" | "bool" | "time" | "int-or-text" | "texts" | "labels";

interface MemberShape {
  readonly name: string;
  readonly type: Scalar | { readonly message: MessageShape; readonly isList: boolean };
}

/** `name: [number, type]`; a message's shape for a member of that message, and in a list for a list of them. */
export function shape(
  members: Readonly<Record<string, readonly [number: number, type: Scalar | MessageShape | readonly [MessageShape]]>>,
): MessageShape {
  return new Map(
    Object.entries(members).map(([name, [number, type]]) => [number, { name, type: memberType(type) }] as const),
  );
}

function memberType(type: Scalar | MessageShape | readonly [MessageShape]): MemberShape["type"] {
  if (typeof type === "string") return type;
  return Array.isArray(type) ? { message: type[0], isList: true } : { message: type as MessageShape, isList: false };
}

type Members = Record<string, unknown>;

/**
 * The message as its JSON would be, as far as the shape says. Go sends members that JSON leaves out for being zero: empty texts are left
 * out here as well, false and 0 stay.
 */
export function decodeShape(
  message: MessageShape,
  bytes: Buffer,
  share: (text: string) => string,
  start = 0,
  end = bytes.length,
): Members {
  const members: Members = {};
  const reader = new WireReader(bytes, start, end);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    const member = message.get(field);
    if (member === undefined || wire !== wireOf(member.type)) skip(reader, wire);
    else readMember(members, member, reader, bytes, share);
  }
  return members;
}

/** Varints that are passed over need no 64 bits. */
function skip(reader: WireReader, wire: number): void {
  if (wire === WIRE_VARINT) reader.uint32();
  else reader.skip(wire);
}

function wireOf(type: MemberShape["type"]): number {
  return type === "number" || type === "bool" ? WIRE_VARINT : WIRE_BYTES;
}

/** Parameters instead of an object: it would be made for each of a hundred members of a pod. */
function readMember(
  members: Members,
  { name, type }: MemberShape,
  reader: WireReader,
  bytes: Buffer,
  share: (text: string) => string,
): void {
  switch (type) {
    case "text":
    case "word": {
      const text = reader.string();
      if (text !== "") members[name] = type === "word" ? share(text) : text;
      return;
    }
    case "number":
      members[name] = reader.uint32() | 0;
      return;
    case "bool":
      members[name] = reader.uint32() !== 0;
      return;
    case "texts":
      listIn(members, name).push(reader.string());
      return;
    case "labels":
      readLabel(members, name, nested(reader, bytes), share);
      return;
    case "time":
      readTime(members, name, nested(reader, bytes));
      return;
    case "int-or-text":
      members[name] = readIntOrText(nested(reader, bytes));
      return;
    default: {
      const length = reader.skipBytes();
      const value = decodeShape(type.message, bytes, share, reader.position - length, reader.position);
      if (type.isList) listIn(members, name).push(value);
      else members[name] = value;
    }
  }
}

function nested(reader: WireReader, bytes: Buffer): WireReader {
  const length = reader.skipBytes();
  return new WireReader(bytes, reader.position - length, reader.position);
}

function listIn(members: Members, name: string): unknown[] {
  const known = members[name] as unknown[] | undefined;
  if (known !== undefined) return known;
  const list: unknown[] = [];
  members[name] = list;
  return list;
}

function readLabel(members: Members, name: string, entry: WireReader, share: (text: string) => string): void {
  let key = "";
  let value = "";
  while (!entry.atEnd) {
    const { field, wire } = entry.tag();
    if (field === 1 && wire === WIRE_BYTES) key = entry.string();
    else if (field === 2 && wire === WIRE_BYTES) value = share(entry.string());
    else skip(entry, wire);
  }
  const labels = (members[name] ?? {}) as Record<string, string>;
  // As JSON's parser does it: a label of this name is no prototype.
  if (key === "__proto__")
    Object.defineProperty(labels, key, { value, enumerable: true, configurable: true, writable: true });
  else labels[key] = value;
  members[name] = labels;
}

/** Seconds since 1970; without them there is no time. */
function readTime(members: Members, name: string, time: WireReader): void {
  while (!time.atEnd) {
    const { field, wire } = time.tag();
    if (field !== 1 || wire !== WIRE_VARINT) {
      skip(time, wire);
      continue;
    }
    const seconds = Number(BigInt.asIntN(64, time.uint64()));
    members[name] = `${new Date(seconds * 1000).toISOString().slice(0, -".000Z".length)}Z`;
  }
}

function readIntOrText(value: WireReader): number | string {
  let isText = false;
  let number = 0;
  let text = "";
  while (!value.atEnd) {
    const { field, wire } = value.tag();
    if (field === 1 && wire === WIRE_VARINT) isText = value.uint32() === 1;
    else if (field === 2 && wire === WIRE_VARINT) number = value.uint32() | 0;
    else if (field === 3 && wire === WIRE_BYTES) text = value.string();
    else skip(value, wire);
  }
  return isText ? text : number;
}
