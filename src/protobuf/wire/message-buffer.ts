/** Measured before it is written: room for the most bytes it could take would be held for nothing. */
const LONG_TEXT = 1000;
/** Up to here a loop is faster than the call to Node (`bench/discovery`). */
const SHORT_TEXT = 64;

/** Larger ones are not held for the next message. */
const MAX_SCRATCH = 64 * 1024;
let scratch: Buffer | undefined;
const NOTHING = Buffer.alloc(0);

/** Bytes of a message under construction. Nested messages are written in place: their length is filled in when it is known. */
export class MessageBuffer {
  #bytes: Buffer;
  #length = 0;
  readonly #isScratch: boolean;

  /** Without a size the room of the message before is used again: thousands are made one after the other (`bench/discovery`). */
  constructor(size?: number) {
    this.#isScratch = size === undefined;
    if (size !== undefined) this.#bytes = Buffer.allocUnsafe(size);
    else {
      this.#bytes = scratch ?? Buffer.allocUnsafeSlow(4096);
      scratch = undefined;
    }
  }

  /** A copy that holds no more memory than its bytes. */
  finish(): Buffer {
    const result = Buffer.allocUnsafeSlow(this.#length);
    this.#bytes.copy(result, 0, 0, this.#length);
    if (this.#isScratch && this.#bytes.length <= MAX_SCRATCH) {
      scratch = this.#bytes;
      this.#bytes = NOTHING;
      this.#length = 0;
    }
    return result;
  }

  /** The bytes in place, for a message that is sent on at once. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  get length(): number {
    return this.#length;
  }

  tag(field: number, wire: number): void {
    this.varint(((field << 3) | wire) >>> 0);
  }

  varint(value: number): void {
    this.#reserve(5);
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  varint64(value: bigint): void {
    this.#reserve(10);
    let rest = BigInt.asUintN(64, value);
    while (rest > 0x7fn) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.#length++] = Number(rest);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  fixed64(value: bigint): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeBigUInt64LE(value, this.#length);
  }

  float(value: number): void {
    this.#reserve(4);
    this.#length = this.#bytes.writeFloatLE(value, this.#length);
  }

  /** Length and text. */
  text(value: string): void {
    if (value.length > LONG_TEXT) {
      const length = Buffer.byteLength(value);
      this.varint(length);
      this.#reserve(length);
      this.#length += this.#bytes.write(value, this.#length);
      return;
    }
    const start = this.open();
    this.#reserve(value.length * 3);
    if (value.length > SHORT_TEXT || !this.#writeAscii(value)) {
      this.#length += this.#bytes.write(value, this.#length);
    }
    this.close(start);
  }

  /** Whether the text is ASCII; nothing is written if not. */
  #writeAscii(value: string): boolean {
    const bytes = this.#bytes;
    const start = this.#length;
    for (let index = 0; index < value.length; index += 1) {
      const code = value.charCodeAt(index);
      if (code > 0x7f) return false;
      bytes[start + index] = code;
    }
    this.#length += value.length;
    return true;
  }

  /** Length and bytes. */
  bytes(value: Uint8Array): void {
    this.varint(value.length);
    this.raw(value);
  }

  /** Bytes as they are. */
  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  /** Leaves room for the length of what follows, up to `close`. */
  open(): number {
    this.#reserve(1);
    this.#length += 1;
    return this.#length;
  }

  close(start: number): void {
    const size = this.#length - start;
    let extra = 0;
    for (let rest = size >>> 7; rest > 0; rest >>>= 7) extra += 1;
    if (extra > 0) {
      this.#reserve(extra);
      this.#bytes.copyWithin(start + extra, start, this.#length);
    }
    let at = start - 1;
    let rest = size;
    while (rest > 0x7f) {
      this.#bytes[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[at] = rest;
    this.#length += extra;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
