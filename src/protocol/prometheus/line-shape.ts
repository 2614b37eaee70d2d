import { type FollowLines, followLines } from "./follow-lines.ts";
import { numberEnd } from "./number-text.ts";
import { isPlainByte, type SampleScanner } from "./sample-line.ts";

const NEWLINE = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const ZERO = 0x30;
const NINE = 0x39;
const NO_BYTES = Buffer.alloc(0);

/**
 * Lines of a family differ in a few label values. What equals the line before, which was checked, is compared eight bytes at a time, and
 * only the values that differ are looked at: about three times as fast as parsing each line (bench/metrics-merge). Eight bytes are equal
 * as floating point numbers when they are equal: those of a model are ASCII and not 0, which is never a NaN or a negative zero.
 */
export class LineShape {
  #bytes: Buffer = NO_BYTES;
  #view: DataView = new DataView(new ArrayBuffer(0));
  #start = 0;
  /** Behind the closing brace, and where each label value begins and ends: counted from the line's start. */
  #length = 0;
  readonly #bounds = new Int32Array(128);
  #count = 0;
  #numberBound = -1;
  /** Bytes of which a copy is where native code reaches them, from which position on, and whether the recorded line is among them. */
  #loaded: Buffer | undefined;
  #loadedFrom = 0;
  #native: FollowLines | undefined;
  #isNative = false;

  /** Makes the lines fast to follow, until they are unloaded in the same turn. False where that is not possible: they are followed as ever. */
  load(bytes: Buffer, start: number, end: number): boolean {
    this.#native ??= followLines();
    if (this.#native === undefined || end - start > this.#native.text.length) return false;
    bytes.copy(this.#native.text, 0, start, end);
    this.#loaded = bytes;
    this.#loadedFrom = start;
    return true;
  }

  unload(): void {
    this.#loaded = undefined;
    this.forget();
  }

  /** A line that the scanner took. The value at `numberBound` has to be a number in the lines behind it, too. Those without labels, or with escapes or letters beyond ASCII in them, are not a model for others. */
  record(bytes: Buffer, start: number, scanner: SampleScanner, numberBound = -1): void {
    const { labelBounds, boundCount, isPlain, seriesEnd } = scanner;
    this.#count = isPlain ? boundCount : 0;
    if (this.#count === 0) return;
    // A number among the label values is a matter of the loop below.
    this.#isNative = bytes === this.#loaded && numberBound < 0;
    const bounds = this.#isNative && this.#native !== undefined ? this.#native.bounds : this.#bounds;
    if (this.#bytes !== bytes) {
      this.#bytes = bytes;
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    }
    for (let index = 0; index < boundCount; index++) bounds[index] = (labelBounds[index] as number) - start;
    this.#start = start;
    this.#length = seriesEnd - start;
    this.#numberBound = numberBound;
  }

  /** The next line is another family's, or in other bytes. */
  forget(): void {
    this.#count = 0;
  }

  /**
   * Behind the last of the lines from `start` on that have the name and the labels of the line before, and a whole number without time
   * stamp as their value; `start` itself when there is none. Lines are whole up to `end`.
   */
  follow(bytes: Buffer, start: number, end: number): number {
    const count = this.#count;
    if (count > 0 && this.#isNative && this.#native !== undefined) {
      this.#count = 0;
      const from = this.#loadedFrom;
      return from + this.#native.follow(start - from, end - from, this.#start - from, this.#length, count);
    }
    const numberBound = this.#numberBound;
    const bounds = this.#bounds;
    const view = this.#view;
    let before = this.#start;
    let length = this.#length;
    let at = start;
    // A line that breaks the row leaves bounds of two lines behind.
    this.#count = 0;
    if (count === 0) return start;
    while (at < end) {
      /** Where the line before would begin, were its values as long as those of this line up to here. */
      let base = before;
      let same = 0;
      let next = 0;
      for (;;) {
        // Beyond the length the values follow, which may differ: no tail is left to compare byte by byte.
        const last = bytes.length - 8 - at;
        while (same < length && same <= last && view.getFloat64(base + same, true) === view.getFloat64(at + same, true))
          same += 8;
        if (same >= length) break;
        if (same <= last) {
          let difference = view.getInt32(base + same, true) ^ view.getInt32(at + same, true);
          if (difference === 0) {
            same += 4;
            difference = view.getInt32(base + same, true) ^ view.getInt32(at + same, true);
          }
          same += (31 - Math.clz32(difference & -difference)) >> 3;
        } else while (same < length && bytes[base + same] === bytes[at + same]) same++;
        if (same >= length) break;
        while (next < count && (bounds[next + 1] as number) < same) next += 2;
        // A name, a brace or a comma differs.
        if (next === count || same < (bounds[next] as number)) return at;
        let quote = at + same;
        while (isPlainByte(bytes[quote] as number)) quote++;
        if (bytes[quote] !== QUOTE) return at;
        if (next === numberBound && numberEnd(bytes, at + (bounds[next] as number)) !== quote) return at;
        same = quote - at;
        const longer = same - (bounds[next + 1] as number);
        if (longer !== 0) {
          base -= longer;
          length += longer;
          for (let index = next + 1; index < count; index++) bounds[index] = (bounds[index] as number) + longer;
        }
        next += 2;
      }
      const newline = valueEnd(bytes, at + length);
      if (newline < 0) return at;
      before = at;
      at = newline + 1;
    }
    return at;
  }
}

/** The newline behind one blank and a number, -1 for anything else. */
function valueEnd(bytes: Buffer, start: number): number {
  if (bytes[start] !== SPACE) return -1;
  let at = start + 1;
  while ((bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at++;
  // Nearly all values are counts.
  if (bytes[at] !== NEWLINE || at === start + 1) at = numberEnd(bytes, start + 1);
  return at >= 0 && bytes[at] === NEWLINE ? at : -1;
}
