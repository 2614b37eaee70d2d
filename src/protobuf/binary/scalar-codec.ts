import { CodecError } from "../codec-error.ts";
import type { ScalarCode } from "../message-tables.ts";
import type { MessageBuffer } from "../wire/message-buffer.ts";
import { WIRE_BYTES, WIRE_FIXED32, WIRE_FIXED64, WIRE_VARINT, type WireReader } from "../wire/wire-reader.ts";

export function wireOf(code: ScalarCode): number {
  if (code === "s" || code === "y") return WIRE_BYTES;
  if (code === "d") return WIRE_FIXED64;
  return code === "f" ? WIRE_FIXED32 : WIRE_VARINT;
}

/** Without its tag. */
export function writeScalar(out: MessageBuffer, code: ScalarCode, value: unknown): void {
  if (code === "s") out.text(expect(value, "string"));
  else if (code === "y") out.bytes(Buffer.from(expect(value, "string"), "base64"));
  else if (code === "b") out.varint(expect(value, "boolean") ? 1 : 0);
  else if (code === "u") out.varint(uint32(value));
  else if (code === "d") out.double(expect(value, "number"));
  else if (code === "f") out.float(expect(value, "number"));
  else out.varint64(BigInt(integer(value)));
}

/** In canonical JSON form: 64 bit integers are text. */
export function readScalar(reader: WireReader, code: ScalarCode): unknown {
  switch (code) {
    case "s":
      return reader.string();
    case "y":
      return reader.bytes().toString("base64");
    case "b":
      return reader.uint64() !== 0n;
    case "u":
      return reader.uint32();
    case "i":
      return reader.uint32() | 0;
    case "I":
      return String(BigInt.asIntN(64, reader.uint64()));
    case "U":
      return String(reader.uint64());
    case "d":
      return reader.double();
    case "f":
      return reader.float();
  }
}

export function isZero(code: ScalarCode, value: unknown): boolean {
  if (code === "s" || code === "y") return value === "";
  return value === (code === "b" ? false : 0) || value === "0";
}

interface Primitives {
  readonly string: string;
  readonly boolean: boolean;
  readonly number: number;
}

function expect<Type extends keyof Primitives>(value: unknown, type: Type): Primitives[Type] {
  if (typeof value !== type) throw new CodecError("bad-value", `expected a ${type}, found ${JSON.stringify(value)}`);
  return value as Primitives[Type];
}

function uint32(value: unknown): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 0xffffffff) return value;
  throw new CodecError("bad-value", `expected an integer of 0 to 4294967295, found ${JSON.stringify(value)}`);
}

function integer(value: unknown): number | string {
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  if (typeof value === "string" && /^-?\d+$/.test(value)) return value;
  throw new CodecError("bad-value", `expected an integer, found ${JSON.stringify(value)}`);
}
