import { WIRE_BYTES, WIRE_FIXED32, WIRE_FIXED64, WIRE_VARINT } from "./wire-reader.ts";

/** Appends fields in protobuf's wire format. One writer makes one message. */
export class WireWriter {
  #buffer = Buffer.allocUnsafe(256);
  #length = 0;

  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  uint32(field: number, value: number): void {
    this.#tag(field, WIRE_VARINT);
    this.#varint(value >>> 0);
  }

  /** Negative values take ten bytes, as the format demands. */
  int64(field: number, value: bigint): void {
    this.#tag(field, WIRE_VARINT);
    let rest = BigInt.asUintN(64, value);
    while (rest > 0x7fn) {
      this.#push(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    this.#push(Number(rest));
  }

  double(field: number, value: number): void {
    this.#tag(field, WIRE_FIXED64);
    this.#reserve(8);
    this.#length = this.#buffer.writeDoubleLE(value, this.#length);
  }

  float(field: number, value: number): void {
    this.#tag(field, WIRE_FIXED32);
    this.#reserve(4);
    this.#length = this.#buffer.writeFloatLE(value, this.#length);
  }

  string(field: number, value: string): void {
    this.#tag(field, WIRE_BYTES);
    const length = Buffer.byteLength(value);
    this.#varint(length);
    this.#reserve(length);
    this.#length += this.#buffer.write(value, this.#length);
  }

  bytes(field: number, value: Uint8Array): void {
    this.#tag(field, WIRE_BYTES);
    this.#varint(value.length);
    this.#reserve(value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
  }

  #tag(field: number, wire: number): void {
    this.#varint(((field << 3) | wire) >>> 0);
  }

  #varint(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.#push((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.#push(rest);
  }

  #push(byte: number): void {
    this.#reserve(1);
    this.#buffer[this.#length] = byte;
    this.#length += 1;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
