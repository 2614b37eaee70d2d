import { WIRE_BYTES, WIRE_FIXED32, WIRE_FIXED64, WIRE_VARINT } from "../../protobuf/wire/wire-reader.ts";
import type { XdsProtocol } from "../../xds/methods.ts";

/** Strings of interest are short; a longer one is passed over rather than collected. */
const MAX_STRING_BYTES = 4096;
const MAX_VARINT_BYTES = 10;

const VERSION = 1;
const RESOURCES = 2;
const TYPE_URL = 4;
const NONCE = 5;
/** Of a delta response; another kind has a message of its own there, and no use for the count. */
const REMOVED = 6;
const ANY_TYPE_URL = 1;
/** Where a delta Resource holds its Any. */
const WRAPPED_ANY = 2;

/**
 * Reads a response while it passes by, in pieces cut anywhere, without holding it: type, version, nonce and the numbers of resources.
 * The response's own type comes after all its resources, but the first resource begins with its type, so the type is known from the
 * first few bytes. Payloads are jumped over, not looked at.
 */
export class ResponseScanner {
  /** The response's own, or the first resource's until that has come; undefined before both. */
  typeUrl: string | undefined;
  /** The response's own type has come. */
  hasOwnType = false;
  versionInfo = "";
  nonce = "";
  resourceCount = 0;
  removedCount = 0;
  /** The bytes are not a protobuf message; the facts found before stay. */
  malformed = false;

  readonly #wrapped: boolean;
  /** Bytes of a field that was cut at the end of a piece; never more than a short string. */
  #carry: Buffer = EMPTY;
  #position = 0;
  #skip = 0;
  /** Ends of the messages we are inside of: [] top, [a] resource, [a, b] Any within a delta resource. */
  readonly #ends: number[] = [];

  constructor(kind: XdsProtocol) {
    this.#wrapped = kind === "delta";
  }

  feed(piece: Buffer): void {
    if (this.malformed) return;
    let window = this.#carry.length === 0 ? piece : Buffer.concat([this.#carry, piece]);
    this.#carry = EMPTY;
    while (window.length > 0 && !this.malformed) {
      if (this.#skip > 0) {
        const jumped = Math.min(this.#skip, window.length);
        this.#skip -= jumped;
        window = this.#advance(window, jumped);
        continue;
      }
      const used = this.#field(window);
      if (used === 0) {
        this.#carry = Buffer.from(window);
        return;
      }
      window = this.#advance(window, used);
    }
  }

  /** The response has ended: what is still open was cut off. */
  end(): void {
    this.malformed ||= this.#carry.length > 0 || this.#skip > 0 || this.#ends.length > 0;
  }

  #advance(window: Buffer, bytes: number): Buffer {
    this.#position += bytes;
    while (this.#ends.length > 0 && this.#position >= (this.#ends.at(-1) ?? 0)) this.#ends.pop();
    return window.subarray(bytes);
  }

  /** Takes one field's header, and its value when that is of interest. Returns 0 when more bytes are needed. */
  #field(window: Buffer): number {
    const tag = readVarint(window, 0);
    if (tag === undefined) return this.#incomplete(window);
    const [field, wire] = [tag.value >>> 3, tag.value & 7];
    if (wire === WIRE_VARINT) {
      const value = readVarint(window, tag.next);
      return value === undefined ? this.#incomplete(window, tag.next) : value.next;
    }
    if (wire === WIRE_FIXED64 || wire === WIRE_FIXED32) {
      this.#skip = wire === WIRE_FIXED64 ? 8 : 4;
      return tag.next;
    }
    if (wire !== WIRE_BYTES || field === 0) {
      this.malformed = true;
      return 0;
    }
    const length = readVarint(window, tag.next);
    if (length === undefined) return this.#incomplete(window, tag.next);
    return this.#bytesField(window, field, length.value, length.next);
  }

  #bytesField(window: Buffer, field: number, length: number, start: number): number {
    const depth = this.#ends.length;
    const anyDepth = this.#wrapped ? 2 : 1;
    if (depth === 0 && field === RESOURCES) {
      this.resourceCount += 1;
      if (this.typeUrl === undefined && length > 0) return this.#enter(start, length);
    }
    if (depth === 0 && field === REMOVED && this.#wrapped) this.removedCount += 1;
    if (depth === 1 && this.#wrapped && field === WRAPPED_ANY && this.typeUrl === undefined && length > 0) {
      return this.#enter(start, length);
    }
    const isType = (depth === 0 && field === TYPE_URL) || (depth === anyDepth && field === ANY_TYPE_URL);
    const isText = isType || (depth === 0 && (field === VERSION || field === NONCE));
    if (!isText || length > MAX_STRING_BYTES) {
      this.#skip = length;
      return start;
    }
    if (window.length < start + length) return 0;
    const text = window.toString("utf8", start, start + length);
    if (isType) this.#noteType(text, depth === 0);
    else if (field === VERSION) this.versionInfo = text;
    else this.nonce = text;
    if (depth > 0) this.#leaveResource(start + length);
    return start + length;
  }

  #noteType(typeUrl: string, isOwn: boolean): void {
    if (isOwn || this.typeUrl === undefined) this.typeUrl = typeUrl;
    this.hasOwnType ||= isOwn;
  }

  /** The rest of the resource is of no interest once its type is known: jump to its end. */
  #leaveResource(consumed: number): void {
    const rest = (this.#ends[0] ?? 0) - (this.#position + consumed);
    this.#ends.length = 0;
    this.#skip = Math.max(0, rest);
    this.malformed ||= rest < 0;
  }

  #enter(start: number, length: number): number {
    this.#ends.push(this.#position + start + length);
    return start;
  }

  #incomplete(window: Buffer, from = 0): number {
    if (window.length - from >= MAX_VARINT_BYTES) this.malformed = true;
    return 0;
  }
}

const EMPTY: Buffer = Buffer.alloc(0);

/** Numbers beyond 32 bits cannot be tags or lengths of a message that could be received. */
function readVarint(bytes: Buffer, start: number): { readonly value: number; readonly next: number } | undefined {
  let value = 0;
  for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
    const byte = bytes[start + index];
    if (byte === undefined) return undefined;
    if (index < 5) value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, next: start + index + 1 };
  }
  return undefined;
}
