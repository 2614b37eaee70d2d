/** Compared one by one up to here; a line with more labels is odd enough to take the slow way. */
const FEW = 64;
/** The metric's name has its own place. */
const RESERVED = "__name__";

/** The label names of one line: none may come twice. Made once and used for millions of lines. */
export class LabelNames {
  readonly #starts = new Int32Array(FEW);
  readonly #ends = new Int32Array(FEW);
  readonly #others = new Set<string>();
  #count = 0;

  clear(): void {
    this.#count = 0;
    if (this.#others.size > 0) this.#others.clear();
  }

  /** False when the name was there before, or is reserved. All names of a line lie in the same bytes. */
  add(bytes: Uint8Array, start: number, end: number): boolean {
    if (end - start === RESERVED.length && textAt(bytes, start, end) === RESERVED) return false;
    for (let index = 0; index < this.#count; index++) {
      if (isSame(bytes, this.#starts[index] as number, this.#ends[index] as number, start, end)) return false;
    }
    if (this.#count === FEW) {
      const text = textAt(bytes, start, end);
      return !this.#others.has(text) && this.#others.add(text) !== undefined;
    }
    this.#starts[this.#count] = start;
    this.#ends[this.#count++] = end;
    return true;
  }
}

function isSame(bytes: Uint8Array, start: number, end: number, otherStart: number, otherEnd: number): boolean {
  if (end - start !== otherEnd - otherStart) return false;
  for (let at = start; at < end; at++) if (bytes[at] !== bytes[otherStart + at - start]) return false;
  return true;
}

function textAt(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("latin1");
}
