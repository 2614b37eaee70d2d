import { compressOwners } from "./compress-owners.ts";
import { FLAG_TC } from "./constants.ts";
import { readSections } from "./sections.ts";

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
