import { WIRE_VARINT, WireReader } from "../wire/wire-reader.ts";
import { EnvoyCodecError } from "./codec-error.ts";
import type { MessageBuffer } from "./message-buffer.ts";

/** `1.5s`: seconds with up to nine decimals. */
export function writeDuration(out: MessageBuffer, value: unknown): void {
  const [, sign, seconds = "0", fraction = ""] = /^(-?)(\d+)(?:\.(\d{1,9}))?s$/.exec(String(value)) ?? [];
  if (sign === undefined) {
    throw new EnvoyCodecError("bad-value", `expected a duration such as "1.5s", found ${JSON.stringify(value)}`);
  }
  const factor = sign === "-" ? -1 : 1;
  writeParts(out, factor * Number(seconds), factor * Number(fraction.padEnd(9, "0")));
}

export function readDuration(bytes: Buffer): string {
  const { seconds, nanos } = readParts(bytes);
  const sign = seconds < 0 || nanos < 0 ? "-" : "";
  return `${sign}${Math.abs(seconds)}${decimals(Math.abs(nanos))}s`;
}

/** RFC 3339. */
export function writeTimestamp(out: MessageBuffer, value: unknown): void {
  const milliseconds = Date.parse(String(value));
  if (Number.isNaN(milliseconds)) {
    throw new EnvoyCodecError(
      "bad-value",
      `expected a time such as "2026-01-02T03:04:05Z", found ${JSON.stringify(value)}`,
    );
  }
  const seconds = Math.floor(milliseconds / 1000);
  writeParts(out, seconds, (milliseconds - seconds * 1000) * 1_000_000);
}

export function readTimestamp(bytes: Buffer): string {
  const { seconds, nanos } = readParts(bytes);
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}${decimals(nanos)}Z`;
}

function writeParts(out: MessageBuffer, seconds: number, nanos: number): void {
  if (seconds !== 0) {
    out.tag(1, WIRE_VARINT);
    out.varint64(BigInt(seconds));
  }
  if (nanos !== 0) {
    out.tag(2, WIRE_VARINT);
    out.varint64(BigInt(nanos));
  }
}

function readParts(bytes: Buffer): { readonly seconds: number; readonly nanos: number } {
  let seconds = 0;
  let nanos = 0;
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 1 && wire === WIRE_VARINT) seconds = Number(BigInt.asIntN(64, reader.uint64()));
    else if (field === 2 && wire === WIRE_VARINT) nanos = Number(BigInt.asIntN(64, reader.uint64()));
    else reader.skip(wire);
  }
  return { seconds, nanos };
}

/** Three, six or nine digits, as proto3 JSON has them. */
function decimals(nanos: number): string {
  const digits = String(nanos)
    .padStart(9, "0")
    .replace(/(?:000){1,3}$/, "");
  return digits === "" ? "" : `.${digits}`;
}
