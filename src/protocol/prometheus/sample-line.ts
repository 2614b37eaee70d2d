import { isUtf8 } from "node:buffer";
import { finiteEnd, integerEnd, numberEnd } from "./number-text.ts";

/** Compared one by one up to here; a line with more labels is odd enough to take the slow way. */
const FEW = 64;
/** The metric's name has its own place. */
const RESERVED = "__name__";
/** The label names of one line: none may come twice. Made once and used for millions of lines. */
class LabelNames {
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

/** The two text forms a document may have. They differ in time stamps, exemplars and how strictly blanks are counted. */
export type PrometheusFormat = "text" | "openmetrics";

const NAME_START = 1;
const NAME_PART = 2;
const LABEL_START = 4;
const LABEL_PART = 8;
const BLANK = 16;
/** Ends the quick walk through a label value: quote, backslash, newline, the byte 0 and everything beyond ASCII. */
const SPECIAL = 32;

const NEWLINE = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const HASH = 0x23;
const COMMA = 0x2c;
const EQUALS = 0x3d;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Of the first 64 labels. */
const MAX_BOUNDS = 128;
const CLASS = buildClasses();
/** Their values are numbers in histograms and summaries. */
const LE = Buffer.from("le");
const QUANTILE = Buffer.from("quantile");

/**
 * Checks one sample line byte by byte and records where its parts end. One instance is reused for millions of lines, so results are
 * fields instead of objects; bench/metrics-merge shows what that is worth.
 */
export class SampleScanner {
  nameEnd = 0;
  /** End of the name with its labels, which together identify the series. */
  seriesEnd = 0;
  valueEnd = 0;
  /** Where the series' label values begin and end, by turns; the first `boundCount` entries count. */
  readonly labelBounds = new Int32Array(MAX_BOUNDS);
  boundCount = 0;
  /** Its label values are ASCII without escapes. */
  isPlain = true;
  /** Which of `labelBounds` is the value of `le` and of `quantile`; -1 without such a label. */
  leBound = -1;
  quantileBound = -1;
  #hasHighBytes = false;
  readonly #labelNames = new LabelNames();
  /** OpenMetrics has one blank before each number and none among the labels, nor a comma behind the last. */
  #hasFreeBlanks = true;

  /**
   * The position of the line's newline, or -1 when the line is not a sample. A newline must follow somewhere behind `start`. `known` bytes
   * of the name were looked at already.
   */
  scan(bytes: Uint8Array, start: number, format: PrometheusFormat, known = 0): number {
    let at = start + known;
    if (known === 0 && ((CLASS[bytes[at++] as number] as number) & NAME_START) === 0) return -1;
    while (((CLASS[bytes[at] as number] as number) & NAME_PART) !== 0) at++;
    this.nameEnd = at;
    this.#hasFreeBlanks = format === "text";
    this.#hasHighBytes = false;
    this.isPlain = true;
    this.boundCount = 0;
    this.leBound = -1;
    this.quantileBound = -1;
    if (bytes[at] === OPEN_BRACE) {
      at = this.#labels(bytes, at + 1);
      if (at < 0) return -1;
    } else if (((CLASS[bytes[at] as number] as number) & BLANK) === 0) return -1;
    if (this.#hasHighBytes && !isUtf8(bytes.subarray(start, at))) return -1;
    this.seriesEnd = at;
    if (!this.#hasFreeBlanks && bytes[at] !== SPACE) return -1;
    at = numberEnd(bytes, this.#hasFreeBlanks ? skipBlanks(bytes, at) : at + 1);
    this.valueEnd = at;
    if (at < 0 || bytes[at] === NEWLINE) return at;
    if (((CLASS[bytes[at] as number] as number) & BLANK) === 0) return -1;
    return format === "text" ? textRest(bytes, at) : this.#openMetricsRest(bytes, at);
  }

  /** From behind the opening brace to behind the closing one. */
  #labels(bytes: Uint8Array, start: number): number {
    const isFree = this.#hasFreeBlanks;
    let at = isFree ? skipBlanks(bytes, start) : start;
    const names = this.#labelNames;
    names.clear();
    while (bytes[at] !== CLOSE_BRACE) {
      const name = at;
      if (((CLASS[bytes[at] as number] as number) & LABEL_START) === 0) return -1;
      do at++;
      while (((CLASS[bytes[at] as number] as number) & LABEL_PART) !== 0);
      if (!names.add(bytes, name, at)) return -1;
      const length = at - name;
      if (isFree && bytes[at] !== EQUALS) at = skipBlanks(bytes, at);
      if (bytes[at] !== EQUALS) return -1;
      at++;
      if (isFree && bytes[at] !== QUOTE) at = skipBlanks(bytes, at);
      if (bytes[at] !== QUOTE) return -1;
      const value = at + 1;
      at = this.#labelValue(bytes, value);
      if (at < 0) return -1;
      if (this.boundCount < MAX_BOUNDS) {
        if (length === LE.length && startsWith(bytes, name, LE)) this.leBound = this.boundCount;
        else if (length === QUANTILE.length && startsWith(bytes, name, QUANTILE)) this.quantileBound = this.boundCount;
        this.labelBounds[this.boundCount++] = value;
        this.labelBounds[this.boundCount++] = at - 1;
      } else this.isPlain = false;
      if (isFree && bytes[at] !== COMMA) at = skipBlanks(bytes, at);
      if (bytes[at] === COMMA) {
        at = isFree ? skipBlanks(bytes, at + 1) : at + 1;
        if (!isFree && bytes[at] === CLOSE_BRACE) return -1;
      } else if (bytes[at] !== CLOSE_BRACE) return -1;
    }
    return at + 1;
  }

  /** From behind the opening quote to behind the closing one. */
  #labelValue(bytes: Uint8Array, start: number): number {
    for (let at = start; ; at++) {
      while (((CLASS[bytes[at] as number] as number) & SPECIAL) === 0) at++;
      const byte = bytes[at] as number;
      if (byte === QUOTE) return at + 1;
      if (byte === NEWLINE) return -1;
      this.isPlain = false;
      if (byte !== BACKSLASH) this.#hasHighBytes = true;
      else {
        const escaped = bytes[++at];
        if (escaped !== BACKSLASH && escaped !== QUOTE && escaped !== 0x6e) return -1;
      }
    }
  }

  /** `[ timestamp][ # {labels} value[ timestamp]]` and the newline. */
  #openMetricsRest(bytes: Uint8Array, start: number): number {
    let at = optionalNumber(bytes, start);
    if (at < 0 || bytes[at] === NEWLINE) return at;
    if (bytes[at] !== SPACE || bytes[at + 1] !== HASH || bytes[at + 2] !== SPACE || bytes[at + 3] !== OPEN_BRACE)
      return -1;
    const { boundCount, isPlain, leBound, quantileBound } = this;
    this.#hasHighBytes = false;
    at = this.#labels(bytes, at + 4);
    // An exemplar's labels are none of the series'.
    this.boundCount = boundCount;
    this.isPlain = isPlain;
    this.leBound = leBound;
    this.quantileBound = quantileBound;
    if (at < 0 || bytes[at] !== SPACE || (this.#hasHighBytes && !isUtf8(bytes.subarray(start, at)))) return -1;
    at = numberEnd(bytes, at + 1);
    if (at < 0) return -1;
    at = optionalNumber(bytes, at);
    return at >= 0 && bytes[at] === NEWLINE ? at : -1;
  }
}

/** Behind a metric's name, or -1 where none begins. */
export function metricNameEnd(bytes: Uint8Array, start: number): number {
  if (((CLASS[bytes[start] as number] as number) & NAME_START) === 0) return -1;
  let at = start + 1;
  while (((CLASS[bytes[at] as number] as number) & NAME_PART) !== 0) at++;
  return at;
}

/** A byte of a label value that stands for itself. */
export function isPlainByte(byte: number): boolean {
  return ((CLASS[byte] as number) & SPECIAL) === 0;
}

/** Whether the bytes go on with these. */
function startsWith(bytes: Uint8Array, start: number, wanted: Uint8Array): boolean {
  for (let index = 0; index < wanted.length; index++) if (bytes[start + index] !== wanted[index]) return false;
  return true;
}

/** A time stamp in whole milliseconds and the newline. */
function textRest(bytes: Uint8Array, start: number): number {
  const end = integerEnd(bytes, skipBlanks(bytes, start));
  return end >= 0 && bytes[end] === NEWLINE ? end : -1;
}

/** Behind ` number`, or `start` itself when a newline or an exemplar is next. */
function optionalNumber(bytes: Uint8Array, start: number): number {
  if (bytes[start] === NEWLINE) return start;
  if (bytes[start] !== SPACE) return -1;
  if (bytes[start + 1] === HASH) return start;
  const end = finiteEnd(bytes, start + 1);
  return end === start + 1 ? -1 : end;
}

function skipBlanks(bytes: Uint8Array, start: number): number {
  let at = start;
  while (((CLASS[bytes[at] as number] as number) & BLANK) !== 0) at++;
  return at;
}

function buildClasses(): Uint8Array {
  const classes = new Uint8Array(256);
  const add = (characters: string, bits: number) => {
    for (const character of characters) classes[character.charCodeAt(0)] = bits;
  };
  add("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", NAME_START | NAME_PART | LABEL_START | LABEL_PART);
  add(":", NAME_START | NAME_PART);
  add("0123456789", NAME_PART | LABEL_PART);
  add(" \t", BLANK);
  add('"\\\n\0', SPECIAL);
  classes.fill(SPECIAL, 0x80);
  return classes;
}

function isSame(bytes: Uint8Array, start: number, end: number, otherStart: number, otherEnd: number): boolean {
  if (end - start !== otherEnd - otherStart) return false;
  for (let at = start; at < end; at++) if (bytes[at] !== bytes[otherStart + at - start]) return false;
  return true;
}

function textAt(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("latin1");
}
