import { MessageBuffer } from "./message-buffer.ts";
import { WIRE_BYTES, WIRE_FIXED64, WIRE_VARINT } from "./wire-reader.ts";

/** Appends fields in protobuf's wire format. One writer makes one message. */
export class WireWriter {
  readonly #out = new MessageBuffer(256);

  finish(): Buffer {
    return this.#out.view();
  }

  uint32(field: number, value: number): void {
    this.#out.tag(field, WIRE_VARINT);
    this.#out.varint(value >>> 0);
  }

  /** Negative values take ten bytes, as the format demands. */
  int64(field: number, value: bigint): void {
    this.#out.tag(field, WIRE_VARINT);
    this.#out.varint64(value);
  }

  double(field: number, value: number): void {
    this.#out.tag(field, WIRE_FIXED64);
    this.#out.double(value);
  }

  string(field: number, value: string): void {
    this.#out.tag(field, WIRE_BYTES);
    this.#out.text(value);
  }

  bytes(field: number, value: Uint8Array): void {
    this.#out.tag(field, WIRE_BYTES);
    this.#out.bytes(value);
  }
}
