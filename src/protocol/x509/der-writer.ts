import { X509Error } from "./x509-error.ts";

/** Tag bytes of the universal types that X.509 needs; constructed types carry the 0x20 bit already. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** One element: tag, shortest length, then the parts as its content. */
export function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  let size = 0;
  for (const part of parts) size += part.length;
  const header = size < 0x80 ? 2 : size < 0x100 ? 3 : size < 0x10000 ? 4 : size < 0x1000000 ? 5 : 6;
  const out = Buffer.allocUnsafe(header + size);
  out[0] = tag;
  if (header === 2) out[1] = size;
  else {
    out[1] = 0x80 | (header - 2);
    out.writeUIntBE(size, 2, header - 2);
  }
  let at = header;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => element(TAG.sequence, ...parts);
export const set = (...parts: readonly Uint8Array[]): Buffer => element(TAG.set, ...parts);
export const octetString = (content: Uint8Array): Buffer => element(TAG.octetString, content);
export const boolean = (value: boolean): Buffer => element(TAG.boolean, Buffer.of(value ? 0xff : 0));
export const nullValue = (): Buffer => element(TAG.null);
export const utf8String = (text: string): Buffer => element(TAG.utf8String, Buffer.from(text));
/** Context tag around complete elements, as `[n] EXPLICIT` and constructed `[n] IMPLICIT` have it. */
export const context = (number: number, ...parts: readonly Uint8Array[]): Buffer => element(0xa0 | number, ...parts);
/** Context tag in place of a primitive type's own tag. */
export const contextPrimitive = (number: number, content: Uint8Array): Buffer => element(0x80 | number, content);

/** A non-negative integer from its big-endian bytes, in the shortest form. */
export function unsignedInteger(bigEndian: Uint8Array): Buffer {
  let start = 0;
  while (start < bigEndian.length - 1 && bigEndian[start] === 0) start += 1;
  const digits = bigEndian.subarray(start);
  const first = digits[0];
  if (first === undefined) return element(TAG.integer, Buffer.of(0));
  return first >= 0x80 ? element(TAG.integer, Buffer.of(0), digits) : element(TAG.integer, digits);
}

export const smallInteger = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return unsignedInteger(bytes);
};

/** Whole bytes, or named bits such as KeyUsage with trailing zero bits left out. */
export function bitString(content: Uint8Array, unusedBits = 0): Buffer {
  return element(TAG.bitString, Buffer.of(unusedBits), content);
}

export function oid(dotted: string): Buffer {
  const arcs = dotted.split(".").map(Number);
  const [first = -1, second = -1, ...rest] = arcs;
  if (first < 0 || first > 2 || second < 0 || (first < 2 && second > 39) || !arcs.every(Number.isSafeInteger)) {
    throw new X509Error("bad-der", `not an object identifier: ${dotted}`);
  }
  return element(TAG.oid, Buffer.from([first * 40 + second, ...rest].flatMap(base128)));
}

function base128(arc: number): number[] {
  const digits = [arc % 0x80];
  for (let rest = Math.floor(arc / 0x80); rest > 0; rest = Math.floor(rest / 0x80)) {
    digits.unshift(0x80 | (rest % 0x80));
  }
  return digits;
}

/** UTCTime through 2049 and GeneralizedTime from 2050, as RFC 5280 demands; fractions of a second are cut. */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]|\.\d+Z/g, "");
  const year = date.getUTCFullYear();
  if (year >= 1950 && year < 2050) return element(TAG.utcTime, Buffer.from(`${digits.slice(2)}Z`, "latin1"));
  return element(TAG.generalizedTime, Buffer.from(`${digits}Z`, "latin1"));
}
