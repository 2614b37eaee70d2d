import { CodecError } from "../codec-error.ts";
import { formatDecimals, formatProtoDuration, parseProtoDuration } from "../proto-duration.ts";
import type { MessageBuffer } from "../wire/message-buffer.ts";
import { WIRE_VARINT, WireReader } from "../wire/wire-reader.ts";

const SECOND = 1_000_000_000n;

export function writeDuration(out: MessageBuffer, value: unknown): void {
  const nanoseconds = durationOf(value);
  writeParts(out, nanoseconds / SECOND, nanoseconds % SECOND);
}

export function readDuration(bytes: Buffer): string {
  const { seconds, nanos } = readParts(bytes);
  return formatProtoDuration(seconds * SECOND + nanos);
}

function durationOf(value: unknown): bigint {
  try {
    return parseProtoDuration(String(value));
  } catch {
    throw new CodecError("bad-value", `expected a duration such as "1.5s", found ${JSON.stringify(value)}`);
  }
}

/** RFC 3339. */
export function writeTimestamp(out: MessageBuffer, value: unknown): void {
  const milliseconds = Date.parse(String(value));
  if (Number.isNaN(milliseconds)) {
    throw new CodecError("bad-value", `expected a time such as "2026-01-02T03:04:05Z", found ${JSON.stringify(value)}`);
  }
  const seconds = Math.floor(milliseconds / 1000);
  writeParts(out, BigInt(seconds), BigInt(milliseconds - seconds * 1000) * 1_000_000n);
}

export function readTimestamp(bytes: Buffer): string {
  const { seconds, nanos } = readParts(bytes);
  return `${new Date(Number(seconds) * 1000).toISOString().slice(0, 19)}${formatDecimals(nanos)}Z`;
}

function writeParts(out: MessageBuffer, seconds: bigint, nanos: bigint): void {
  if (seconds !== 0n) {
    out.tag(1, WIRE_VARINT);
    out.varint64(seconds);
  }
  if (nanos !== 0n) {
    out.tag(2, WIRE_VARINT);
    out.varint64(nanos);
  }
}

function readParts(bytes: Buffer): { readonly seconds: bigint; readonly nanos: bigint } {
  let seconds = 0n;
  let nanos = 0n;
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 1 && wire === WIRE_VARINT) seconds = BigInt.asIntN(64, reader.uint64());
    else if (field === 2 && wire === WIRE_VARINT) nanos = BigInt.asIntN(64, reader.uint64());
    else reader.skip(wire);
  }
  return { seconds, nanos };
}
