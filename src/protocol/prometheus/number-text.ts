const DOT = 0x2e;
const PLUS = 0x2b;
const MINUS = 0x2d;
const SPECIAL_VALUES = /^[+-]?(?:inf(?:inity)?|nan)$/i;
const LONGEST_SPECIAL = "+infinity".length;
/** Fewer digits, before the point or in an exponent, cannot leave the range of a double or of a 64-bit integer. */
const SAFE_DIGITS = 300;
const SAFE_EXPONENT_DIGITS = 2;
const SAFE_INTEGER_DIGITS = 18;

/** Behind a number as Go's ParseFloat reads it, -1 when there is none or it is too large. What may follow is the caller's matter. */
export function numberEnd(bytes: Uint8Array, start: number): number {
  const end = finiteEnd(bytes, start);
  return end === start ? specialEnd(bytes, start) : end;
}

/** The same without infinity and "not a number"; `start` itself when there is no digit. */
export function finiteEnd(bytes: Uint8Array, start: number): number {
  let at = bytes[start] === MINUS || bytes[start] === PLUS ? start + 1 : start;
  const digits = at;
  at = digitsEnd(bytes, at);
  let count = at - digits;
  if (bytes[at] === DOT) {
    const fraction = ++at;
    at = digitsEnd(bytes, at);
    count += at - fraction;
  }
  if (count === 0) return start;
  let exponentDigits = 0;
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    at++;
    if (bytes[at] === MINUS || bytes[at] === PLUS) at++;
    const exponent = at;
    at = digitsEnd(bytes, at);
    exponentDigits = at - exponent;
    if (exponentDigits === 0) return -1;
  }
  if (count <= SAFE_DIGITS && exponentDigits <= SAFE_EXPONENT_DIGITS) return at;
  return Number.isFinite(Number(textOf(bytes, start, at))) ? at : -1;
}

/** Behind a whole number of 64 bits, -1 when there is none. */
export function integerEnd(bytes: Uint8Array, start: number): number {
  const digits = bytes[start] === MINUS ? start + 1 : start;
  const end = digitsEnd(bytes, digits);
  if (end === digits) return -1;
  if (end - digits <= SAFE_INTEGER_DIGITS) return end;
  const value = BigInt(textOf(bytes, start, end));
  return BigInt.asIntN(64, value) === value ? end : -1;
}

function digitsEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while ((bytes[at] as number) >= 0x30 && (bytes[at] as number) <= 0x39) at++;
  return at;
}

function specialEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  let word = "";
  while (word.length <= LONGEST_SPECIAL && isWordByte(bytes[at])) word += String.fromCharCode(bytes[at++] as number);
  return SPECIAL_VALUES.test(word) ? at : -1;
}

function isWordByte(byte = 0): boolean {
  const lower = byte | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || byte === PLUS || byte === MINUS;
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("latin1");
}
