import { WasmError } from "../wasm-error.ts";

export interface TarEntry {
  readonly name: string;
  /** Only regular files are reported; links and devices mean nothing here. */
  readonly data: Buffer;
}

const BLOCK = 512;
/** Names and attributes of one entry, and of all. Reading them takes long, and an archive of nothing else packs to almost nothing. */
const MAX_DESCRIPTION_BYTES = 1024 * 1024;
const MAX_DESCRIPTIONS_BYTES = 8 * 1024 * 1024;
const MAX_HEADERS = 100_000;

export function isTar(bytes: Buffer): boolean {
  return bytes.length > 262 && bytes.toString("latin1", 257, 262) === "ustar";
}

/**
 * The regular files of an archive that is in memory, as views on it: sizes that headers claim are compared with what is there before
 * anything is done with them. Names are only looked at; nothing is ever written under them.
 */
export function* tarEntries(archive: Buffer): Generator<TarEntry> {
  let at = 0;
  let longName: string | undefined;
  let attributes: ReadonlyMap<string, string> = new Map();
  let descriptionBytes = 0;
  let headers = 0;
  while (at + BLOCK <= archive.length) {
    const header = archive.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) return;
    headers += 1;
    if (headers > MAX_HEADERS) throw broken(`it has more than ${MAX_HEADERS} entries`);
    if (!hasValidChecksum(header)) throw broken("a header's checksum is wrong");
    const type = String.fromCharCode(header[156] ?? 0);
    const size = hasContent(type) ? sizeOf(header, attributes) : 0;
    const start = at + BLOCK;
    if (size > archive.length - start) throw broken("an entry is longer than the archive");
    const data = archive.subarray(start, start + size);
    at = start + Math.ceil(size / BLOCK) * BLOCK;
    if (isDescription(type)) {
      descriptionBytes += size;
      if (size > MAX_DESCRIPTION_BYTES || descriptionBytes > MAX_DESCRIPTIONS_BYTES)
        throw broken("its extended headers are too large");
    }
    if (type === "x") attributes = paxAttributes(data);
    else if (type === "L") longName = text(data);
    else if (!isDescription(type)) {
      const name = attributes.get("path") ?? longName ?? headerName(header);
      if (isRegular(type) && !name.endsWith("/")) yield { name, data };
      longName = undefined;
      attributes = new Map();
    }
  }
  if (at < archive.length || at === 0) throw broken("it is cut short");
}

/** Of the entries that follow: names, link names and other attributes. */
function isDescription(type: string): boolean {
  return "xgLK".includes(type);
}

function isRegular(type: string): boolean {
  return type === "0" || type === "\0" || type === "7";
}

/** Links, devices, directories and pipes have none, in spite of their size field. */
function hasContent(type: string): boolean {
  return !"123456".includes(type);
}

function sizeOf(header: Buffer, attributes: ReadonlyMap<string, string>): number {
  const attribute = attributes.get("size");
  const size = attribute === undefined ? numberField(header.subarray(124, 136)) : decimal(attribute);
  if (!Number.isSafeInteger(size) || size < 0) throw broken("an entry has no valid size");
  return size;
}

/** Octal digits, or big-endian bytes when the first bit is set. */
function numberField(field: Buffer): number {
  if (((field[0] ?? 0) & 0x80) !== 0) {
    let value = (field[0] ?? 0) & 0x7f;
    for (const byte of field.subarray(1)) value = value * 256 + byte;
    return value;
  }
  const digits = text(field).trim();
  return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || "0", 8) : Number.NaN;
}

/** The sum of all bytes, those of the sum itself counted as blanks. */
function hasValidChecksum(header: Buffer): boolean {
  let sum = 8 * SPACE;
  for (let index = 0; index < 148; index += 1) sum += header[index] ?? 0;
  for (let index = 156; index < BLOCK; index += 1) sum += header[index] ?? 0;
  return numberField(header.subarray(148, 156)) === sum;
}

function headerName(header: Buffer): string {
  const name = text(header.subarray(0, 100));
  const prefix = header.toString("latin1", 257, 263) === "ustar\0" ? text(header.subarray(345, 500)) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** Records "<length> <key>=<value>\n", the length counting itself; of all the keys there are, those that matter here. */
function paxAttributes(data: Buffer): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  for (let at = 0; at < data.length; ) {
    let length = 0;
    let space = at;
    for (; isDigit(data[space]) && space - at < MAX_DIGITS; space += 1)
      length = length * 10 + (data[space] ?? 0) - ZERO;
    const end = at + length;
    if (data[space] !== SPACE || end <= space || end > data.length) throw broken("an extended header is malformed");
    const key = PAX_KEYS.find((each) => startsAt(data, space + 1, each));
    if (key !== undefined) attributes.set(key, data.toString("utf8", space + 1 + key.length + 1, end - 1));
    at = end;
  }
  return attributes;
}

const PAX_KEYS = ["path", "size"];
const MAX_DIGITS = 15;
const ZERO = 0x30;
const SPACE = 0x20;
const EQUALS = 0x3d;

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= ZERO + 9;
}

/** Byte by byte: there may be millions of records, and almost all end with the first one. */
function startsAt(data: Buffer, at: number, key: string): boolean {
  for (let index = 0; index < key.length; index += 1) if (data[at + index] !== key.charCodeAt(index)) return false;
  return data[at + key.length] === EQUALS;
}

function decimal(digits: string): number {
  return /^\d{1,15}$/.test(digits) ? Number(digits) : Number.NaN;
}

/** Up to the first zero byte. */
function text(field: Buffer): string {
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end === -1 ? field.length : end);
}

function broken(what: string): WasmError {
  return new WasmError("invalid-module", `not a valid tar archive: ${what}`);
}
