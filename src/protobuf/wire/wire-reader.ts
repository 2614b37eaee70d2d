import { CodedError } from "../../base/coded-error.ts";

export class WireError extends CodedError<"truncated" | "bad-varint" | "bad-wire-type" | "bad-field"> {}

export const WIRE_VARINT = 0;
export const WIRE_FIXED64 = 1;
export const WIRE_BYTES = 2;
export const WIRE_FIXED32 = 5;

/** Reads protobuf's wire format in place: byte fields are views on the input, nothing is copied. */
export class WireReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  get atEnd(): boolean {
    return this.#at >= this.#end;
  }

  /** Where the next byte is, in the buffer given to the constructor. */
  get position(): number {
    return this.#at;
  }

  /** Field number and wire type of the next field. */
  tag(): { readonly field: number; readonly wire: number } {
    const tag = this.uint32();
    const field = tag >>> 3;
    if (field === 0) throw new WireError("bad-field", "protobuf: field number 0");
    return { field, wire: tag & 7 };
  }

  /** Values above 32 bits (negative int32 are sent in 64) keep their low half. */
  uint32(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new WireError("bad-varint", "protobuf: varint longer than ten bytes");
  }

  uint64(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new WireError("bad-varint", "protobuf: varint longer than ten bytes");
  }

  double(): number {
    return this.#bytes.readDoubleLE(this.#take(8));
  }

  float(): number {
    return this.#bytes.readFloatLE(this.#take(4));
  }

  bytes(): Buffer {
    const length = this.uint32();
    const start = this.#take(length);
    return this.#bytes.subarray(start, start + length);
  }

  string(): string {
    const length = this.uint32();
    const start = this.#take(length);
    return this.#bytes.toString("utf8", start, start + length);
  }

  /** Passes a field of bytes; returns how many they are. */
  skipBytes(): number {
    const length = this.uint32();
    this.#take(length);
    return length;
  }

  skip(wire: number): void {
    if (wire === WIRE_VARINT) this.uint64();
    else if (wire === WIRE_FIXED64) this.#take(8);
    else if (wire === WIRE_BYTES) this.skipBytes();
    else if (wire === WIRE_FIXED32) this.#take(4);
    else throw new WireError("bad-wire-type", `protobuf: wire type ${wire}`);
  }

  #byte(): number {
    const at = this.#take(1);
    return this.#bytes[at] ?? 0;
  }

  #take(length: number): number {
    const start = this.#at;
    if (length > this.#end - start) throw new WireError("truncated", "protobuf: message is cut short");
    this.#at = start + length;
    return start;
  }
}
