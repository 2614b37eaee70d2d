import { HEADER_BYTES, RECORD_TYPE } from "./constants.ts";
import { skipName } from "./name.ts";

/** The end of the question section, or -1. */
function questionsEnd(message: Buffer): number {
  let at = HEADER_BYTES;
  for (let index = message.readUInt16BE(4); index > 0; index--) {
    const nameEnd = skipName(message, at);
    if (nameEnd < 0 || nameEnd + 4 > message.length) return -1;
    at = nameEnd + 4;
  }
  return at;
}

export interface RecordSpan {
  /** 0 answer, 1 authority, 2 additional. */
  readonly section: number;
  readonly start: number;
  /** Where the owner name ends and the type begins. */
  readonly fields: number;
  readonly end: number;
  readonly type: number;
}

/** Where the parts of a message are. */
export interface Sections {
  readonly questionEnd: number;
  readonly records: readonly RecordSpan[];
  readonly opt: Buffer | undefined;
  readonly signed: boolean;
}

/**
 * Undefined when the records cannot be parsed. Counts may promise more records than there are, as long as the message ends after a
 * complete one: some servers truncate so.
 */
export function readSections(message: Buffer): Sections | undefined {
  if (message.length < HEADER_BYTES) return undefined;
  const questionEnd = questionsEnd(message);
  if (questionEnd < 0) return undefined;
  const records: RecordSpan[] = [];
  let opt: Buffer | undefined;
  let signed = false;
  let start = questionEnd;
  for (let section = 0; section < 3; section++) {
    for (let count = message.readUInt16BE(6 + 2 * section); count > 0 && start < message.length; count--) {
      const fields = skipName(message, start);
      if (fields < 0 || fields + 10 > message.length) return undefined;
      const type = message.readUInt16BE(fields);
      const end = fields + 10 + message.readUInt16BE(fields + 8);
      if (end > message.length) return undefined;
      if (section === 2 && type === RECORD_TYPE.OPT) opt = message.subarray(start, end);
      else records.push({ section, start, fields, end, type });
      signed ||= type === RECORD_TYPE.TSIG;
      start = end;
    }
  }
  return { questionEnd, records, opt, signed };
}
