import { TAG } from "./der-writer.ts";
import { X509Error } from "./x509-error.ts";

export interface DerElement {
  readonly tag: number;
  /** A view on the input. */
  readonly content: Buffer;
  /** Tag and length included: what a signature covers. */
  readonly raw: Buffer;
}

/** Walks the elements of one constructed value. Strict DER: definite lengths in their shortest form, one-byte tags. */
export class DerReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Tag of the next element without taking it; undefined at the end. */
  get peek(): number | undefined {
    return this.#bytes[this.#at];
  }

  next(): DerElement {
    const start = this.#at;
    const tag = this.#byte();
    if ((tag & 0x1f) === 0x1f) throw malformed("tag of more than one byte");
    const length = this.#length();
    if (length > this.#bytes.length - this.#at) throw malformed("element is cut short");
    const content = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return { tag, content, raw: this.#bytes.subarray(start, this.#at) };
  }

  expect(tag: number): DerElement {
    const found = this.next();
    if (found.tag !== tag) throw malformed(`tag ${found.tag} where ${tag} belongs`);
    return found;
  }

  /** A reader for the content of the next element, which must have that tag. */
  enter(tag: number): DerReader {
    return new DerReader(this.expect(tag).content);
  }

  sequence(): DerReader {
    return this.enter(TAG.sequence);
  }

  /** Takes the next element only if it has that tag. */
  optional(tag: number): DerElement | undefined {
    return this.peek === tag ? this.next() : undefined;
  }

  oid(): string {
    return parseOid(this.expect(TAG.oid).content);
  }

  time(): Date {
    const { tag, content } = this.next();
    return parseTime(tag, content.toString("latin1"));
  }

  /** Content of a bit string that holds whole bytes. */
  bitString(): Buffer {
    const { content } = this.expect(TAG.bitString);
    if (content[0] !== 0) throw malformed("bit string does not hold whole bytes");
    return content.subarray(1);
  }

  end(): void {
    if (!this.atEnd) throw malformed("bytes after the last element");
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw malformed("element is cut short");
    this.#at += 1;
    return byte;
  }

  #length(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw malformed("length of an unsupported form");
    let length = 0;
    for (let index = 0; index < count; index += 1) length = length * 0x100 + this.#byte();
    const shortest = length < 0x80 ? 0 : Math.ceil(length.toString(16).length / 2);
    if (shortest !== count) throw malformed("length not in its shortest form");
    return length;
  }
}

function parseOid(content: Buffer): string {
  const arcs: number[] = [];
  let arc = 0;
  content.forEach((byte, index) => {
    arc = arc * 0x80 + (byte & 0x7f);
    if (!Number.isSafeInteger(arc)) throw malformed("object identifier with a giant arc");
    if (byte >= 0x80) {
      if (index === content.length - 1) throw malformed("object identifier is cut short");
      return;
    }
    arcs.push(arc);
    arc = 0;
  });
  const [joined, ...rest] = arcs;
  if (joined === undefined) throw malformed("empty object identifier");
  const first = Math.min(2, Math.floor(joined / 40));
  return [first, joined - first * 40, ...rest].join(".");
}

const TIME = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;

function parseTime(tag: number, text: string): Date {
  if (tag !== TAG.utcTime && tag !== TAG.generalizedTime) throw malformed("time of an unknown type");
  // RFC 5280: two-digit years from 50 are of the last century.
  const century = tag === TAG.generalizedTime ? "" : text < "5" ? "20" : "19";
  const digits = TIME.exec(century + text);
  if (digits === null) throw malformed("time that is not in UTC with seconds");
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = digits.slice(1).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  // JavaScript takes the 31st of February for one in March; verifiers refuse the certificate, and a proxy the bundle with it.
  const isReal = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && minute < 60 && second < 60;
  if (!isReal) throw malformed("time that does not exist");
  return date;
}

function malformed(what: string): X509Error {
  return new X509Error("bad-der", `DER: ${what}`);
}
