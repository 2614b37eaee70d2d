import {
  FLAG_QR,
  HEADER_BYTES,
  MAX_LABEL_BYTES,
  MAX_NAME_BYTES,
  MIN_UDP_BYTES,
  OPCODE,
  RECORD_TYPE,
} from "./constants.ts";
import type { WireName } from "./name.ts";
import { skipName } from "./name.ts";

/** What has to be done with a received packet before anybody looks at its name. */
export type QueryVerdict = "query" | "ignore" | "format-error" | "not-implemented" | "refused";

/** The parts of a query that decide its answer. One object serves all queries of a socket; it holds the latest. */
export interface QueryView {
  /** The name asked for, in lower case. */
  name: WireName;
  type: number;
  class: number;
  /** Where the question ends; 0 while no question was read. May lie behind a message that was cut after its name or type. */
  questionEnd: number;
  /** The client's UDP limit; 0 when it sent no OPT record. */
  udpBytes: number;
  dnssecOk: boolean;
  /** Where a name is lower-cased before it is read. */
  readonly scratch: Buffer;
}

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

/** A question's name cannot be compressed, as nothing comes before it. Returns the offset after it, or -1. */
function readQuestionName(message: Buffer, view: QueryView): number {
  const size = message.length;
  let at = HEADER_BYTES;
  let hasUpperCase = false;
  for (;;) {
    const length = message[at] ?? 0;
    if (length === 0) break;
    const next = at + 1 + length;
    if (length > MAX_LABEL_BYTES || next >= size) return -1;
    for (let index = at + 1; index < next; index++) {
      const byte = message[index] ?? 0;
      if (byte >= 0x41 && byte <= 0x5a) hasUpperCase = true;
    }
    at = next;
  }
  const end = at + 1;
  if (end - HEADER_BYTES > MAX_NAME_BYTES) return -1;
  view.name = hasUpperCase ? lowerCaseName(message, end, view.scratch) : message.toString("latin1", HEADER_BYTES, end);
  return end;
}

function lowerCaseName(message: Buffer, end: number, lowered: Buffer): WireName {
  const size = end - HEADER_BYTES;
  for (let index = 0; index < size; index++) {
    const byte = message[HEADER_BYTES + index] ?? 0;
    lowered[index] = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
  }
  return lowered.toString("latin1", 0, size);
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
      view.udpBytes = Math.max(MIN_UDP_BYTES, uint16(message, fields + 2));
      view.dnssecOk = ((message[fields + 6] ?? 0) & 0x80) !== 0;
    }
    at = end;
  }
  return true;
}

function uint16(message: Buffer, offset: number): number {
  return ((message[offset] ?? 0) << 8) | (message[offset + 1] ?? 0);
}
