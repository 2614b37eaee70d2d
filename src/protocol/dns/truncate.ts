import { FLAG_TC, HEADER_BYTES, RECORD_TYPE } from "./constants.ts";
import { skipName } from "./name.ts";

/**
 * The message cut to `limit` bytes at a record boundary with TC set, or undefined when its records cannot be told apart. Records go from
 * the end; an OPT record stays and its room is reserved. Pointers only ever lead backwards, so what is kept stays readable as it is.
 * A signed message comes back whole: a signature over a shorter one would be wrong.
 */
export function truncateMessage(message: Buffer, limit: number): Buffer | undefined {
  if (message.length <= limit) return message;
  const sections = readSections(message);
  if (sections === undefined) return undefined;
  if (sections.signed) return message;
  const opt = sections.opt ?? message.subarray(0, 0);
  const room = limit - opt.length;
  if (sections.questionEnd > room) return undefined;
  const kept = [0, 0, 0];
  let end = sections.questionEnd;
  for (const record of sections.records) {
    if (record.end - record.start + end > room || record.start !== end) break;
    end = record.end;
    kept[record.section] = (kept[record.section] ?? 0) + 1;
  }
  const cut = Buffer.concat([message.subarray(0, end), opt]);
  cut[2] = (cut[2] ?? 0) | FLAG_TC;
  cut.writeUInt16BE(kept[0] ?? 0, 6);
  cut.writeUInt16BE(kept[1] ?? 0, 8);
  cut.writeUInt16BE((kept[2] ?? 0) + (sections.opt === undefined ? 0 : 1), 10);
  return cut;
}

/** The end of the question section, or -1. */
export function questionsEnd(message: Buffer): number {
  let at = HEADER_BYTES;
  for (let index = message.readUInt16BE(4); index > 0; index--) {
    const nameEnd = skipName(message, at);
    if (nameEnd < 0 || nameEnd + 4 > message.length) return -1;
    at = nameEnd + 4;
  }
  return at;
}

interface RecordSpan {
  /** 0 answer, 1 authority, 2 additional. */
  readonly section: number;
  readonly start: number;
  readonly end: number;
}

interface Sections {
  readonly questionEnd: number;
  readonly records: readonly RecordSpan[];
  readonly opt: Buffer | undefined;
  readonly signed: boolean;
}

function readSections(message: Buffer): Sections | undefined {
  if (message.length < HEADER_BYTES) return undefined;
  const questionEnd = questionsEnd(message);
  if (questionEnd < 0) return undefined;
  const records: RecordSpan[] = [];
  let opt: Buffer | undefined;
  let signed = false;
  let start = questionEnd;
  for (let section = 0; section < 3; section++) {
    for (let count = message.readUInt16BE(6 + 2 * section); count > 0; count--) {
      const fields = skipName(message, start);
      if (fields < 0 || fields + 10 > message.length) return undefined;
      const type = message.readUInt16BE(fields);
      const end = fields + 10 + message.readUInt16BE(fields + 8);
      if (end > message.length) return undefined;
      if (section === 2 && type === RECORD_TYPE.OPT) opt = message.subarray(start, end);
      else records.push({ section, start, end });
      signed ||= type === RECORD_TYPE.TSIG;
      start = end;
    }
  }
  return { questionEnd, records, opt, signed };
}
