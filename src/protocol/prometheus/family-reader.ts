import { CodedError } from "../../base/coded-error.ts";
import {
  convertHeader,
  defaultType,
  type FamilyHeader,
  hasBareSamples,
  isFamilyType,
  sampleSuffixes,
} from "./family-type.ts";
import { MAX_LOADED_BYTES } from "./follow-lines.ts";
import { LineShape } from "./line-shape.ts";
import { parseMetadataLine } from "./metadata-line.ts";
import { numberEnd } from "./number-text.ts";
import { type PrometheusFormat, SampleScanner } from "./sample-line.ts";
import { tidyLine } from "./tidy-line.ts";

/** What is said of a family before its first sample. */
export interface Family extends FamilyHeader {
  readonly help: string | undefined;
  readonly unit: string | undefined;
}

export interface FamilySink {
  /** The samples that follow belong to this family. A name may come again when the body repeats it. */
  begin(family: Family): void;
  /** Whole lines, each with its newline. They are views of the chunks that were pushed. */
  samples(bytes: Buffer, start: number, end: number): void;
}

export interface FamilyReaderOptions {
  readonly from: PrometheusFormat;
  readonly to: PrometheusFormat;
  /** Its sample lines are well formed and all have a TYPE line: only lines with `#` are looked at, which is several times faster. */
  readonly isTrusted: boolean;
}

/** The body is not metrics text; what came before stays. */
export class PrometheusBodyError extends CodedError<"line-too-long" | "not-metrics"> {}

const NEWLINE = 0x0a;
const HASH = 0x23;
const SPACE = 0x20;
const NEXT_METADATA = Buffer.from("\n#");
const MAX_LINE_BYTES = 64 * 1024;
const MAX_BROKEN_LINES = 1000;
const NOTHING = Buffer.alloc(0);
/** Less is followed sooner than it is copied. */
const LEAST_LOADED_BYTES = 8 * 1024;

interface Current {
  readonly name: string;
  type: string | undefined;
  help: string | undefined;
  unit: string | undefined;
  suffixes: readonly string[];
  hasBareSamples: boolean;
  hasBegun: boolean;
}

/**
 * Cuts a body that arrives in pieces into families, in constant memory. Lines that no parser would take are left out and counted;
 * remarks, blank lines and `# EOF` are left out. Metadata is reported once, with the family's first sample.
 */
export class FamilyReader {
  brokenLines = 0;
  readonly #sink: FamilySink;
  readonly #options: FamilyReaderOptions;
  readonly #scanner = new SampleScanner();
  readonly #shape = new LineShape();
  #current: Current | undefined;
  #carry: Buffer = NOTHING;

  constructor(sink: FamilySink, options: FamilyReaderOptions) {
    this.#sink = sink;
    this.#options = options;
  }

  push(chunk: Buffer): void {
    let start = 0;
    if (this.#carry.length > 0) {
      const newline = chunk.indexOf(NEWLINE);
      const line = Buffer.concat([this.#carry, newline < 0 ? chunk : chunk.subarray(0, newline + 1)]);
      if (newline < 0) {
        this.#keep(line);
        return;
      }
      this.#carry = NOTHING;
      this.#lines(line, 0, line.length);
      start = newline + 1;
    }
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    for (let at = start; at < end; ) {
      const next = pieceEnd(chunk, at, end);
      this.#lines(chunk, at, next);
      at = next;
    }
    // A copy: the chunk behind these few bytes may go.
    this.#keep(Buffer.from(chunk.subarray(Math.max(start, end))));
  }

  /** A last line without newline counts only when the body really ended there. */
  end(isComplete: boolean): void {
    const rest = this.#carry;
    this.#carry = NOTHING;
    if (isComplete && rest.length > 0) this.#lines(Buffer.concat([rest, Buffer.from("\n")]), 0, rest.length + 1);
  }

  #keep(line: Buffer): void {
    if (line.length > MAX_LINE_BYTES)
      throw new PrometheusBodyError("line-too-long", `a line is longer than ${MAX_LINE_BYTES} bytes: no metrics text`);
    this.#carry = line;
  }

  #lines(bytes: Buffer, start: number, end: number): void {
    const { from, to, isTrusted } = this.#options;
    const scanner = this.#scanner;
    const shape = this.#shape;
    shape.forget();
    const isLoaded = !isTrusted && end - start >= LEAST_LOADED_BYTES && shape.load(bytes, start, end);
    let pending = start;
    let at = start;
    while (at < end) {
      if (bytes[at] === HASH) {
        this.#flush(bytes, pending, at);
        const newline = bytes.indexOf(NEWLINE, at);
        this.#metadata(bytes, at, newline);
        shape.forget();
        at = pending = newline + 1;
        continue;
      }
      if (isTrusted) {
        const next = bytes.indexOf(NEXT_METADATA, at);
        at = next < 0 || next >= end ? end : next + 1;
        continue;
      }
      const followed = shape.follow(bytes, at, end);
      if (followed > at) {
        at = followed;
        continue;
      }
      const known = sharedName(this.#current, bytes, at);
      const newline = scanner.scan(bytes, at, from, known);
      const isOfFamily = isOfCurrent(this.#current, bytes, { start: at, known, end: scanner.nameEnd });
      const numberBound = isOfFamily ? boundOfNumber(this.#current, scanner, scanner.nameEnd - at - known) : -1;
      if (newline < 0 || (numberBound >= 0 && !isNumber(bytes, scanner, numberBound))) {
        this.#flush(bytes, pending, at);
        at = pending = this.#oddLine(bytes, at);
        continue;
      }
      if (!isOfFamily) {
        this.#flush(bytes, pending, at);
        pending = at;
        this.#current = createCurrent(bytes.toString("latin1", at, scanner.nameEnd));
      }
      shape.record(bytes, at, scanner, numberBound);
      if (from !== to && scanner.valueEnd !== newline) {
        this.#flush(bytes, pending, at);
        const converted = convertSample(bytes, { start: at, end: newline, scanner, to });
        this.#flush(converted, 0, converted.length);
        pending = newline + 1;
      }
      at = newline + 1;
    }
    if (isLoaded) shape.unload();
    this.#flush(bytes, pending, end);
  }

  /** One that may be as it should once its blanks are, or is broken. Returns where the next begins. */
  #oddLine(bytes: Buffer, at: number): number {
    const newline = bytes.indexOf(NEWLINE, at);
    const tidy = this.#options.from === "text" ? tidyLine(bytes, at, newline) : undefined;
    if (tidy !== undefined) {
      this.#lines(tidy, 0, tidy.length);
      // It lies in other bytes than the next one.
      this.#shape.forget();
      return newline + 1;
    }
    const isBlank = bytes.toString("latin1", at, newline).trim() === "";
    if (!isBlank && ++this.brokenLines > MAX_BROKEN_LINES)
      throw new PrometheusBodyError("not-metrics", `more than ${MAX_BROKEN_LINES} lines are not metrics`);
    return newline + 1;
  }

  #metadata(bytes: Buffer, start: number, end: number): void {
    const line = parseMetadataLine(bytes, start, end);
    if (line.kind === "comment" || line.kind === "eof") return;
    if (this.#current?.name !== line.name) this.#current = createCurrent(line.name);
    const current = this.#current;
    // Parsers refuse metadata behind a family's samples.
    if (current.hasBegun) return;
    if (line.kind !== "type") current[line.kind] ??= line.value;
    else if (current.type === undefined && isFamilyType(line.value, this.#options.from)) {
      current.type = line.value;
      current.suffixes = sampleSuffixes(line.value, this.#options.from);
      current.hasBareSamples = hasBareSamples(line.value, this.#options.from);
    }
  }

  #flush(bytes: Buffer, start: number, end: number): void {
    if (start === end) return;
    const current = this.#current;
    if (current === undefined) return;
    if (!current.hasBegun) {
      current.hasBegun = true;
      const { from, to } = this.#options;
      const { name, type } = convertHeader({ name: current.name, type: current.type ?? defaultType(from) }, from, to);
      this.#sink.begin({ name, type, help: current.help, unit: current.unit });
    }
    this.#sink.samples(bytes, start, end);
  }
}

/** Behind the last whole line of a piece that stays in the processor's cache while it is copied and followed; `end` when that is near. */
function pieceEnd(chunk: Buffer, start: number, end: number): number {
  if (end - start <= MAX_LOADED_BYTES) return end;
  const last = chunk.lastIndexOf(NEWLINE, start + MAX_LOADED_BYTES - 1);
  return (last >= start ? last : chunk.indexOf(NEWLINE, start + MAX_LOADED_BYTES)) + 1;
}

function createCurrent(name: string): Current {
  return {
    name,
    type: undefined,
    help: undefined,
    unit: undefined,
    suffixes: [],
    hasBareSamples: true,
    hasBegun: false,
  };
}

/** The length of the current family's name when the line begins with it, else 0. */
function sharedName(current: Current | undefined, bytes: Buffer, start: number): number {
  if (current === undefined) return 0;
  return isAt(bytes, start, current.name) ? current.name.length : 0;
}

/** Whether a sample's name is the family's own, of which `known` bytes are, or that with one of its endings. */
function isOfCurrent(
  current: Current | undefined,
  bytes: Buffer,
  name: { readonly start: number; readonly known: number; readonly end: number },
): boolean {
  if (current === undefined || name.known === 0) return false;
  const rest = name.start + name.known;
  if (rest === name.end) return current.hasBareSamples;
  for (const suffix of current.suffixes)
    if (name.end - rest === suffix.length && isAt(bytes, rest, suffix)) return true;
  return false;
}

/** The label value that has to be a number: `le` of a histogram's bucket and `quantile` of a summary, else -1. */
function boundOfNumber(current: Current | undefined, scanner: SampleScanner, suffixLength: number): number {
  if (current?.type === "summary") return suffixLength === 0 ? scanner.quantileBound : -1;
  const hasBuckets = current?.type === "histogram" || current?.type === "gaugehistogram";
  return hasBuckets && suffixLength === "_bucket".length ? scanner.leBound : -1;
}

function isNumber(bytes: Buffer, { labelBounds }: SampleScanner, bound: number): boolean {
  return numberEnd(bytes, labelBounds[bound] as number) === labelBounds[bound + 1];
}

function isAt(bytes: Buffer, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) if (bytes[start + index] !== text.charCodeAt(index)) return false;
  return true;
}

interface SampleConversion {
  readonly start: number;
  readonly end: number;
  readonly scanner: SampleScanner;
  readonly to: PrometheusFormat;
}

/** Time stamps change their unit; exemplars exist in OpenMetrics only. */
function convertSample(bytes: Buffer, { start, end, scanner, to }: SampleConversion): Buffer {
  const series = bytes.toString("latin1", start, scanner.seriesEnd);
  const [value = "", stamp] =
    bytes
      .toString("latin1", scanner.seriesEnd, end)
      .split(" # ")[0]
      ?.trim()
      .split(/[ \t]+/) ?? [];
  const time =
    stamp === undefined ? undefined : to === "text" ? Math.round(Number(stamp) * 1000) : Number(stamp) / 1000;
  const shown = time === undefined || !Number.isFinite(time) ? "" : ` ${time}`;
  return Buffer.from(`${series}${String.fromCharCode(SPACE)}${value}${shown}\n`, "latin1");
}
