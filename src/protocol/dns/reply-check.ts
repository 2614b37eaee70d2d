import { FLAG_QR, FLAG_TC, HEADER_BYTES, RCODE, RCODE_MASK } from "./constants.ts";
import { skipName } from "./name.ts";

/**
 * Whether `reply` answers `query` (as sent, transaction id included): anything else with a guessed id is somebody's attempt to plant an
 * answer. A server that refuses may leave the question out.
 */
export function answersQuery(query: Buffer, reply: Buffer): boolean {
  if (reply.length < HEADER_BYTES || ((reply[2] ?? 0) & FLAG_QR) === 0) return false;
  if (reply[0] !== query[0] || reply[1] !== query[1]) return false;
  const questions = reply.readUInt16BE(4);
  if (questions === 0) return isRefusal(reply);
  return questions === 1 && sameQuestion(query, reply);
}

export function rcodeOf(message: Buffer): number {
  return (message[3] ?? 0) & RCODE_MASK;
}

export function isTruncated(message: Buffer): boolean {
  return ((message[2] ?? 0) & FLAG_TC) !== 0;
}

function isRefusal(reply: Buffer): boolean {
  const rcode = rcodeOf(reply);
  return rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN;
}

/** Letters compare without case, as some servers always answer in lower case. */
function sameQuestion(query: Buffer, reply: Buffer): boolean {
  const nameEnd = skipName(query, HEADER_BYTES);
  const end = nameEnd + 4;
  if (nameEnd < 0 || reply.length < end || query.length < end) return false;
  for (let at = HEADER_BYTES; at < nameEnd; at++) {
    if (lower(query[at] ?? 0) !== lower(reply[at] ?? 0)) return false;
  }
  return query.compare(reply, nameEnd, end, nameEnd, end) === 0;
}

function lower(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
}
