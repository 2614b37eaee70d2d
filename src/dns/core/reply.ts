import {
  EMPTY_OPT_BYTES,
  FLAG_AA,
  FLAG_CD,
  FLAG_QR,
  FLAG_RD,
  FLAG_TC,
  HEADER_BYTES,
  OPCODE,
  RECORD_CLASS,
  RECORD_TYPE,
} from "../../protocol/dns/constants.ts";
import { writeName } from "../../protocol/dns/name.ts";
import type { QueryView } from "../../protocol/dns/query.ts";
import type { LocalAnswer } from "./decide.ts";
import { A_RECORD_BYTES, AAAA_RECORD_BYTES, type LookupTable } from "./name-table.ts";
import { type Random16, shuffle } from "./shuffle.ts";

/** What a server of ours can receive over UDP without fragments on common networks. */
const OUR_UDP_BYTES = 1232;
/** Bytes of a record before its RDATA when the owner is a pointer. */
const RECORD_HEAD_BYTES = 12;

export interface ReplyOptions {
  readonly limit: number;
  readonly authoritative: boolean;
  /** Undefined keeps the order of the table. */
  readonly random: Random16 | undefined;
}

/** Writes the reply to `out` and returns its length. Records that do not fit are left out and TC is set. */
export function writeLocalReply(
  out: Buffer,
  message: Buffer,
  view: QueryView,
  table: LookupTable,
  answer: LocalAnswer,
  options: ReplyOptions,
): number {
  const room = options.limit - (view.udpBytes > 0 ? EMPTY_OPT_BYTES : 0);
  let at = copyQuestion(out, message, view.questionEnd);
  let answers = 0;
  let truncated = false;
  let owner = HEADER_BYTES;
  const { entry, name } = answer;
  if (name !== undefined) {
    owner = at + RECORD_HEAD_BYTES;
    const end = writeName(out, owner, name.target);
    if (end < 0 || end > room) return finish(out, message, view, at, 0, end < 0 ? 0 : FLAG_TC, answer.rcode, options);
    putRecordHead(out, at, name.type, table.ttlSeconds, end - owner);
    at = end;
    answers++;
  }
  if (entry !== undefined && answer.ipv4 && entry.ipv4Count > 0) {
    const fitting = Math.min(entry.ipv4Count, Math.floor((room - at) / A_RECORD_BYTES));
    truncated = fitting < entry.ipv4Count;
    at = copyRecords(
      out,
      at,
      table.records,
      entry.start,
      entry.ipv4Count,
      A_RECORD_BYTES,
      fitting,
      owner,
      options.random,
    );
    answers += fitting;
  }
  if (entry !== undefined && answer.ipv6 && entry.ipv6Count > 0) {
    const start = entry.start + entry.ipv4Count * A_RECORD_BYTES;
    const fitting = truncated ? 0 : Math.min(entry.ipv6Count, Math.floor((room - at) / AAAA_RECORD_BYTES));
    truncated ||= fitting < entry.ipv6Count;
    at = copyRecords(out, at, table.records, start, entry.ipv6Count, AAAA_RECORD_BYTES, fitting, owner, options.random);
    answers += fitting;
  }
  return finish(out, message, view, at, answers, truncated ? FLAG_TC : 0, answer.rcode, options);
}

/** A reply without records. Errors of the format echo the question only as far as it was read. */
export function writeErrorReply(out: Buffer, message: Buffer, view: QueryView, rcode: number): number {
  const at = copyQuestion(out, message, view.questionEnd);
  const length = finish(out, message, view, at, 0, 0, rcode, NOT_AUTHORITATIVE);
  if (view.questionEnd === 0) out[5] = 0;
  return length;
}

const NOT_AUTHORITATIVE = { authoritative: false };

/** Header and, for a client that sent one, the OPT record. */
function finish(
  out: Buffer,
  message: Buffer,
  view: QueryView,
  end: number,
  answers: number,
  truncation: number,
  rcode: number,
  options: { readonly authoritative: boolean },
): number {
  const requested = message[2] ?? 0;
  const opcode = requested & 0x78;
  // RD and CD belong to queries; a NOTIFY gets neither back.
  const isQuery = opcode >> 3 === OPCODE.QUERY;
  out[0] = message[0] ?? 0;
  out[1] = message[1] ?? 0;
  out[2] = FLAG_QR | opcode | (options.authoritative ? FLAG_AA : 0) | truncation | (isQuery ? requested & FLAG_RD : 0);
  out[3] = (isQuery ? (message[3] ?? 0) & FLAG_CD : 0) | rcode;
  out[4] = 0;
  out[5] = 1;
  out[6] = answers >> 8;
  out[7] = answers & 0xff;
  out[8] = 0;
  out[9] = 0;
  out[10] = 0;
  out[11] = 0;
  if (view.udpBytes === 0) return end;
  out[11] = 1;
  out[end] = 0;
  out[end + 1] = 0;
  out[end + 2] = RECORD_TYPE.OPT;
  out[end + 3] = OUR_UDP_BYTES >> 8;
  out[end + 4] = OUR_UDP_BYTES & 0xff;
  out[end + 5] = 0;
  out[end + 6] = 0;
  out[end + 7] = view.dnssecOk ? 0x80 : 0;
  out[end + 8] = 0;
  out[end + 9] = 0;
  out[end + 10] = 0;
  return end + EMPTY_OPT_BYTES;
}

/** Byte by byte: for so few a call into the runtime costs more (bench/dns.bench.ts). Zeros stand for a question that was cut. */
function copyQuestion(out: Buffer, message: Buffer, questionEnd: number): number {
  for (let at = HEADER_BYTES; at < questionEnd; at++) out[at] = at < message.length ? (message[at] ?? 0) : 0;
  return Math.max(HEADER_BYTES, questionEnd);
}

function putRecordHead(out: Buffer, at: number, type: number, ttlSeconds: number, dataBytes: number): void {
  out.writeUInt16BE(0xc000 | HEADER_BYTES, at);
  out.writeUInt16BE(type, at + 2);
  out.writeUInt16BE(RECORD_CLASS.IN, at + 4);
  out.writeUInt32BE(ttlSeconds, at + 6);
  out.writeUInt16BE(dataBytes, at + 10);
}

/** Copies the first `fitting` of `count` records in random order, owned by the name at `owner`; returns the new end. */
function copyRecords(
  out: Buffer,
  at: number,
  records: Buffer,
  start: number,
  count: number,
  size: number,
  fitting: number,
  owner: number,
  random: Random16 | undefined,
): number {
  let order: number[] | undefined;
  if (random !== undefined && count > 1) {
    order = Array.from({ length: count }, (_, index) => index);
    shuffle(order, random);
  }
  let end = at;
  for (let index = 0; index < fitting; index++) {
    const from = start + (order === undefined ? index : (order[index] ?? 0)) * size;
    out[end] = 0xc0 | (owner >> 8);
    out[end + 1] = owner & 0xff;
    for (let byte = 2; byte < size; byte++) out[end + byte] = records[from + byte] ?? 0;
    end += size;
  }
  return end;
}
