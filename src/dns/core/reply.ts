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
import { type DomainName, writeName } from "../../protocol/dns/name.ts";
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

/** A query as received and as read. */
export interface Query {
  readonly message: Buffer;
  readonly view: QueryView;
}

/** A reply while its records are added. */
interface Draft {
  readonly out: Buffer;
  readonly room: number;
  end: number;
  /** Offset of the name that owns the next address record. */
  owner: number;
  answers: number;
  truncated: boolean;
}

/** Writes the reply to `out` and returns its length. Records that do not fit are left out and TC is set. */
export function writeLocalReply(
  out: Buffer,
  query: Query,
  table: LookupTable,
  answer: LocalAnswer,
  options: ReplyOptions,
): number {
  const draft = startDraft(out, query, options.limit);
  const { entry, name } = answer;
  if (name !== undefined) addName(draft, name.type, name.target, table.ttlSeconds);
  if (entry !== undefined && answer.ipv4) {
    addAddresses(draft, table.records, entry.start, entry.ipv4Count, A_RECORD_BYTES, options.random);
  }
  if (entry !== undefined && answer.ipv6) {
    const start = entry.start + entry.ipv4Count * A_RECORD_BYTES;
    addAddresses(draft, table.records, start, entry.ipv6Count, AAAA_RECORD_BYTES, options.random);
  }
  return finish(draft, query, answer.rcode, options.authoritative);
}

/** A reply without records. Errors of the format echo the question only as far as it was read. */
export function writeErrorReply(out: Buffer, query: Query, rcode: number): number {
  return finish(startDraft(out, query, out.length), query, rcode, false);
}

/** Byte by byte: for so few a call into the runtime costs more (bench/dns.bench.ts). Zeros stand for a question that was cut. */
function startDraft(out: Buffer, { message, view }: Query, limit: number): Draft {
  const { questionEnd } = view;
  for (let at = HEADER_BYTES; at < questionEnd; at++) out[at] = at < message.length ? (message[at] ?? 0) : 0;
  const room = limit - (view.udpBytes > 0 ? EMPTY_OPT_BYTES : 0);
  const end = Math.max(HEADER_BYTES, questionEnd);
  return { out, room, end, owner: HEADER_BYTES, answers: 0, truncated: false };
}

/** A CNAME or PTR record; what follows belongs to its target. A target that cannot be written is not a record. */
function addName(draft: Draft, type: number, target: DomainName, ttlSeconds: number): void {
  const { out, end } = draft;
  const dataStart = end + RECORD_HEAD_BYTES;
  const dataEnd = writeName(out, dataStart, target);
  if (dataEnd < 0) return;
  draft.truncated = dataEnd > draft.room;
  if (draft.truncated) return;
  out.writeUInt16BE(0xc000 | HEADER_BYTES, end);
  out.writeUInt16BE(type, end + 2);
  out.writeUInt16BE(RECORD_CLASS.IN, end + 4);
  out.writeUInt32BE(ttlSeconds, end + 6);
  out.writeUInt16BE(dataEnd - dataStart, end + 10);
  draft.end = dataEnd;
  draft.owner = dataStart;
  draft.answers = 1;
}

/** As many of the `count` ready records as fit, in random order, given to the draft's owner. */
function addAddresses(
  draft: Draft,
  records: Buffer,
  start: number,
  count: number,
  size: number,
  random: Random16 | undefined,
): void {
  if (draft.truncated) return;
  const { out, owner } = draft;
  const fitting = Math.min(count, Math.floor((draft.room - draft.end) / size));
  const order = random === undefined || count < 2 ? undefined : shuffledIndexes(count, random);
  for (let index = 0; index < fitting; index++) {
    const from = start + (order === undefined ? index : (order[index] ?? 0)) * size;
    const to = draft.end + index * size;
    out[to] = 0xc0 | (owner >> 8);
    out[to + 1] = owner & 0xff;
    for (let byte = 2; byte < size; byte++) out[to + byte] = records[from + byte] ?? 0;
  }
  draft.end += fitting * size;
  draft.answers += fitting;
  draft.truncated = fitting < count;
}

function shuffledIndexes(count: number, random: Random16): number[] {
  const order = Array.from({ length: count }, (_, index) => index);
  shuffle(order, random);
  return order;
}

/** Header and, for a client that sent one, the OPT record. */
function finish(draft: Draft, { message, view }: Query, rcode: number, authoritative: boolean): number {
  const { out, end, answers } = draft;
  const requested = message[2] ?? 0;
  const opcode = requested & 0x78;
  // A NOTIFY is answered without RD and CD; queries and unsupported operations get them back.
  const copiesFlags = opcode >> 3 !== OPCODE.NOTIFY;
  const truncation = draft.truncated ? FLAG_TC : 0;
  out[0] = message[0] ?? 0;
  out[1] = message[1] ?? 0;
  out[2] = FLAG_QR | opcode | (authoritative ? FLAG_AA : 0) | truncation | (copiesFlags ? requested & FLAG_RD : 0);
  out[3] = (copiesFlags ? (message[3] ?? 0) & FLAG_CD : 0) | rcode;
  out[4] = 0;
  out[5] = view.questionEnd > 0 ? 1 : 0;
  out[6] = answers >> 8;
  out[7] = answers & 0xff;
  out[8] = 0;
  out[9] = 0;
  out[10] = 0;
  out[11] = view.udpBytes > 0 ? 1 : 0;
  return view.udpBytes > 0 ? putOpt(out, end, view.dnssecOk) : end;
}

function putOpt(out: Buffer, at: number, dnssecOk: boolean): number {
  out[at] = 0;
  out[at + 1] = 0;
  out[at + 2] = RECORD_TYPE.OPT;
  out[at + 3] = OUR_UDP_BYTES >> 8;
  out[at + 4] = OUR_UDP_BYTES & 0xff;
  out[at + 5] = 0;
  out[at + 6] = 0;
  out[at + 7] = dnssecOk ? 0x80 : 0;
  out[at + 8] = 0;
  out[at + 9] = 0;
  out[at + 10] = 0;
  return at + EMPTY_OPT_BYTES;
}
