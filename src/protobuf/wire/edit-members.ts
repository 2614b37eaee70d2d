import { WIRE_BYTES, WireReader } from "./wire-reader.ts";
import { WireWriter } from "./wire-writer.ts";

/**
 * The bytes of a message-typed member, undefined when it is absent. Several occurrences are joined: that is how protobuf merges a
 * message that was sent in parts.
 */
export function memberBytes(message: Buffer, field: number): Buffer | undefined {
  const found = occurrences(message, field);
  if (found.length <= 1) return found[0]?.value;
  return Buffer.concat(found.map(({ value }) => value));
}

/** Each occurrence of a repeated, length-delimited member: views on the message. */
export function memberList(message: Buffer, field: number): readonly Buffer[] {
  return occurrences(message, field).map(({ value }) => value);
}

/** The message with one member replaced, or taken away; everything else, unknown fields included, stays byte by byte. */
export function withMember(message: Buffer, field: number, value: Uint8Array | undefined): Buffer {
  return withMembers(message, field, value === undefined ? [] : [value]);
}

/**
 * The same for a repeated member. New values take the places of the old ones, in order; what is left over goes to the end, so that
 * equal lists leave the rest of the message where it was.
 */
export function withMembers(message: Buffer, field: number, values: readonly Uint8Array[]): Buffer {
  const pieces: Uint8Array[] = [];
  let copied = 0;
  const found = occurrences(message, field);
  found.forEach(({ start, end }, index) => {
    pieces.push(message.subarray(copied, start));
    const value = values[index];
    if (value !== undefined) pieces.push(encoded(field, value));
    copied = end;
  });
  pieces.push(message.subarray(copied), ...values.slice(found.length).map((value) => encoded(field, value)));
  return Buffer.concat(pieces);
}

interface Occurrence {
  /** Of the tag. */
  readonly start: number;
  readonly end: number;
  readonly value: Buffer;
}

/** A field of that number with another wire type is not the member: it is left alone, like any unknown field. */
function occurrences(message: Buffer, wanted: number): readonly Occurrence[] {
  const found: Occurrence[] = [];
  const reader = new WireReader(message);
  while (!reader.atEnd) {
    const start = reader.position;
    const { field, wire } = reader.tag();
    if (field !== wanted || wire !== WIRE_BYTES) {
      reader.skip(wire);
      continue;
    }
    const value = reader.bytes();
    found.push({ start, end: reader.position, value });
  }
  return found;
}

function encoded(field: number, value: Uint8Array): Buffer {
  const writer = new WireWriter();
  writer.bytes(field, value);
  return writer.finish();
}
