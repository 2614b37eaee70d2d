import { FLAG_TC, HEADER_BYTES, RECORD_TYPE } from "./constants.ts";
import { type RecordSpan, readSections, type Sections } from "./sections.ts";

/** Record types whose data holds names, by where the first one starts. */
const NAME_OFFSETS = new Map<number, number>([
  [RECORD_TYPE.NS, 0],
  [RECORD_TYPE.CNAME, 0],
  [RECORD_TYPE.SOA, 0],
  [RECORD_TYPE.PTR, 0],
  [RECORD_TYPE.MX, 2],
]);

/**
 * The message made to fit `limit` bytes, or undefined when its records cannot be parsed. Repeated names become pointers first; then
 * records go from the end and TC is set, but an OPT record stays and its room is reserved. Pointers only ever lead backwards, so what is
 * remains stays readable as it is. A signed message comes back whole: a signature over a shorter one would be wrong.
 */
export function truncateMessage(message: Buffer, limit: number): Buffer | undefined {
  if (message.length <= limit) return message;
  const sections = readSections(message);
  if (sections === undefined) return undefined;
  if (sections.signed) return message;
  const compressed = compressOwners(message, sections);
  return compressed.length <= limit ? compressed : cut(compressed, limit);
}

function cut(message: Buffer, limit: number): Buffer | undefined {
  const sections = readSections(message);
  if (sections === undefined) return undefined;
  const opt = sections.opt ?? message.subarray(0, 0);
  const room = limit - opt.length;
  if (sections.questionEnd > room) return undefined;
  const counts = [0, 0, 0];
  let end = sections.questionEnd;
  for (const record of sections.records) {
    if (record.end - record.start + end > room || record.start !== end) break;
    end = record.end;
    counts[record.section] = (counts[record.section] ?? 0) + 1;
  }
  const short = Buffer.concat([message.subarray(0, end), opt]);
  short[2] = (short[2] ?? 0) | FLAG_TC;
  short.writeUInt16BE(counts[0] ?? 0, 6);
  short.writeUInt16BE(counts[1] ?? 0, 8);
  short.writeUInt16BE((counts[2] ?? 0) + (sections.opt === undefined ? 0 : 1), 10);
  return short;
}

/**
 * The message with a pointer in place of every owner that occurred before. A message that has pointers already is returned as it is: its
 * sender compressed it, and moving its bytes would lead the pointers astray.
 */
export function compressOwners(message: Buffer, sections: Sections): Buffer {
  const { questionEnd, records } = sections;
  if (records.some((record) => hasPointer(message, record))) return message;
  const seen = new Map<string, number>();
  if (questionEnd > HEADER_BYTES) seen.set(message.toString("latin1", HEADER_BYTES, questionEnd - 4), HEADER_BYTES);
  const parts = [message.subarray(0, questionEnd)];
  let size = questionEnd;
  for (const { start, fields, end } of records) {
    const owner = message.toString("latin1", start, fields);
    const known = fields - start > 2 ? seen.get(owner) : undefined;
    const name = known === undefined ? message.subarray(start, fields) : Buffer.of(0xc0 | (known >> 8), known & 0xff);
    if (known === undefined && size < 0x4000) seen.set(owner, size);
    parts.push(name, message.subarray(fields, end));
    size += name.length + end - fields;
  }
  // Wherever it stood: nothing points at it, and it points nowhere.
  if (sections.opt !== undefined) parts.push(sections.opt);
  return Buffer.concat(parts);
}

function hasPointer(message: Buffer, { start, fields, end, type }: RecordSpan): boolean {
  if (endsInPointer(message, start, fields)) return true;
  const offset = NAME_OFFSETS.get(type);
  return offset !== undefined && endsInPointer(message, fields + 10 + offset, end);
}

/** Walks the labels of one name; those of an SOA record's second name follow the first and are compressed alike. */
function endsInPointer(message: Buffer, start: number, end: number): boolean {
  let at = start;
  while (at < end) {
    const length = message[at] ?? 0;
    if (length >= 0xc0) return true;
    at += 1 + length;
  }
  return false;
}
