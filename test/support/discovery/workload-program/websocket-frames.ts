import { createHash, randomBytes } from "node:crypto";

/** RFC 6455, section 1.3. */
export function acceptKey(key: string): string {
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}

/** One unfragmented text frame of up to 125 bytes; clients mask theirs. */
export function textFrame(text: string, isMasked: boolean): Buffer {
  const payload = Buffer.from(text);
  if (payload.length > 125) throw new Error("longer frames are not needed here");
  const head = Buffer.from([0x81, payload.length | (isMasked ? 0x80 : 0)]);
  if (!isMasked) return Buffer.concat([head, payload]);
  const mask = randomBytes(4);
  return Buffer.concat([head, mask, payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0))]);
}

/** The texts of all whole frames at the beginning, and what is left. */
export function readFrames(bytes: Buffer): { readonly texts: readonly string[]; readonly rest: Buffer } {
  const texts: string[] = [];
  let rest = bytes;
  while (rest.length >= 2) {
    const isMasked = ((rest[1] ?? 0) & 0x80) !== 0;
    const length = (rest[1] ?? 0) & 0x7f;
    const start = isMasked ? 6 : 2;
    if (rest.length < start + length) break;
    const mask = rest.subarray(2, start);
    const payload = rest.subarray(start, start + length);
    texts.push((isMasked ? payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0)) : payload).toString());
    rest = rest.subarray(start + length);
  }
  return { texts, rest };
}
