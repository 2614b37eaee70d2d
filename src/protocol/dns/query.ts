import {
  FLAG_QR,
  HEADER_BYTES,
  MAX_LABEL_BYTES,
  MAX_NAME_BYTES,
  MIN_UDP_BYTES,
  OPCODE,
  RECORD_TYPE,
} from "./constants.ts";
import { type DomainName, escapedName, skipName } from "./name.ts";

/** What has to be done with a received packet before anybody looks at its name. */
export type QueryVerdict = "query" | "ignore" | "format-error" | "not-implemented" | "refused";

/** The parts of a query that decide its answer. One object serves all queries of a socket; it holds the latest. */
export interface QueryView {
  /** The name asked for, in its canonical spelling. */
  name: DomainName;
  type: number;
  class: number;
  /** Where the question ends; 0 while no question was read. May lie behind a message that was cut after its name or type. */
  questionEnd: number;
  /** The client's UDP limit; 0 when it sent no OPT record. */
  udpBytes: number;
  dnssecOk: boolean;
  /** Where a name is spelled before it becomes a string. */
  readonly scratch: Buffer;
}

const DOT = 0x2e;
const BACKSLASH = 0x5c;

export function createQueryView(): QueryView {
  return {
    name: "",
    type: 0,
    class: 0,
    questionEnd: 0,
    udpBytes: 0,
    dnssecOk: false,
    scratch: Buffer.alloc(MAX_NAME_BYTES),
  };
}

/** Reads the question and the OPT record, nothing else. Never throws; called for every packet (bench/dns.bench.ts). */
export function readQuery(message: Buffer, view: QueryView): QueryVerdict {
  view.questionEnd = 0;
  view.udpBytes = 0;
  view.dnssecOk = false;
  if (message.length < HEADER_BYTES) return "ignore";
  const flags = message[2] ?? 0;
  if (flags & FLAG_QR) return "ignore";
  const opcode = (flags >> 3) & 0x0f;
  if (opcode !== OPCODE.QUERY && opcode !== OPCODE.NOTIFY) return "not-implemented";
  const answers = uint16(message, 6);
  const authorities = uint16(message, 8);
  const additionals = uint16(message, 10);
  if (uint16(message, 4) !== 1 || answers > 1 || authorities > 1 || additionals > 2) return "format-error";
  if (message.length === HEADER_BYTES) return "refused";
  const nameEnd = readQuestionName(message, view);
  if (nameEnd < 0 || !readTypeAndClass(message, nameEnd, view)) return "format-error";
  view.questionEnd = nameEnd + 4;
  const records = answers + authorities + additionals;
  if (records === 0 || message.length <= view.questionEnd) return "query";
  return readRecords(message, answers + authorities, records, view) ? "query" : "format-error";
}

/** The largest reply the sender of the query can take over UDP. */
export function udpLimit(view: QueryView): number {
  return Math.max(MIN_UDP_BYTES, view.udpBytes);
}

/**
 * Spells the question's name and returns the offset after it, or -1. It cannot be compressed, as nothing comes before it. One pass over the
 * bytes checks labels, lower-cases letters and puts the dots where the lengths were.
 */
function readQuestionName(message: Buffer, view: QueryView): number {
  const { scratch } = view;
  const size = message.length;
  let at = HEADER_BYTES;
  let isPlain = true;
  for (let length = message[at] ?? 0; length !== 0; length = message[at] ?? 0) {
    const next = at + 1 + length;
    if (length > MAX_LABEL_BYTES || next >= size || next - HEADER_BYTES >= MAX_NAME_BYTES) return -1;
    for (let index = at + 1; index < next; index++) {
      const byte = message[index] ?? 0;
      if (byte <= 0x20 || byte === DOT || byte === BACKSLASH || byte >= 0x7f) isPlain = false;
      scratch[index - HEADER_BYTES - 1] = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
    }
    scratch[next - HEADER_BYTES - 1] = DOT;
    at = next;
  }
  const textBytes = at - HEADER_BYTES;
  if (textBytes === 0) view.name = ".";
  else view.name = isPlain ? scratch.toString("latin1", 0, textBytes) : escapedName(labelsOf(message, at));
  return at + 1;
}

function labelsOf(message: Buffer, end: number): string[] {
  const labels: string[] = [];
  for (let at = HEADER_BYTES; at < end; at += 1 + (message[at] ?? 0)) {
    labels.push(message.toString("latin1", at + 1, at + 1 + (message[at] ?? 0)));
  }
  return labels;
}

/** A message that ends right after the name or the type is taken as if zeros followed. */
function readTypeAndClass(message: Buffer, nameEnd: number, view: QueryView): boolean {
  const rest = message.length - nameEnd;
  if (rest < 4 && rest !== 0 && rest !== 2) return false;
  view.type = rest === 0 ? 0 : uint16(message, nameEnd);
  view.class = rest < 4 ? 0 : uint16(message, nameEnd + 2);
  return true;
}

/** Counts may promise more records than there are, as long as the message ends after a complete one. */
function readRecords(message: Buffer, beforeAdditional: number, records: number, view: QueryView): boolean {
  let at = view.questionEnd;
  for (let index = 0; index < records && at < message.length; index++) {
    const fields = skipName(message, at);
    if (fields < 0 || fields + 10 > message.length) return false;
    const end = fields + 10 + uint16(message, fields + 8);
    if (end > message.length) return false;
    if (index >= beforeAdditional && uint16(message, fields) === RECORD_TYPE.OPT) {
      if (!hasWholeOptions(message, fields + 10, end)) return false;
      view.udpBytes = Math.max(MIN_UDP_BYTES, uint16(message, fields + 2));
      view.dnssecOk = ((message[fields + 6] ?? 0) & 0x80) !== 0;
    }
    at = end;
  }
  return true;
}

/** Code, length and as many bytes, any number of times: a truncated option must not be forwarded. */
function hasWholeOptions(message: Buffer, start: number, end: number): boolean {
  let at = start;
  while (at + 4 <= end) at += 4 + uint16(message, at + 2);
  return at === end;
}

function uint16(message: Buffer, offset: number): number {
  return ((message[offset] ?? 0) << 8) | (message[offset + 1] ?? 0);
}
