import { isUtf8 } from "node:buffer";
import { isPlainByte, metricNameEnd } from "./sample-line.ts";

/** A line that begins with `#`. */
export type MetadataLine =
  | { readonly kind: "type"; readonly name: string; readonly value: string }
  | { readonly kind: "help" | "unit"; readonly name: string; readonly value: string }
  | { readonly kind: "eof" }
  /** A remark, or metadata that no parser would take. */
  | { readonly kind: "comment" };

const FORM = /^#[ \t]+(TYPE|HELP|UNIT)[ \t]+([a-zA-Z_:][a-zA-Z0-9_:]*)(?:[ \t]+(.*))?$/;
const CARRIAGE_RETURN = 0x0d;
const BAD_ESCAPE = /\\(?![\\n"])/;
const SPACE = 0x20;
const TYPE = Buffer.from("# TYPE ");
const HELP = Buffer.from("# HELP ");

/** `bytes` from the `#` up to the newline, without it. */
export function parseMetadataLine(bytes: Buffer, start: number, end: number): MetadataLine {
  return parsePlainLine(bytes, start, end) ?? parseAnyLine(bytes, start, end);
}

/**
 * `# TYPE name value` and `# HELP name value` as client libraries write them: ASCII, one blank each, no escapes. Spares them
 * the pattern below. Undefined for every other line.
 */
function parsePlainLine(bytes: Buffer, start: number, end: number): MetadataLine | undefined {
  const kind = isAt(bytes, start, TYPE) ? "type" : isAt(bytes, start, HELP) ? "help" : undefined;
  if (kind === undefined) return undefined;
  const nameStart = start + TYPE.length;
  const nameEnd = metricNameEnd(bytes, nameStart);
  const valueStart = nameEnd + 1;
  if (nameEnd < 0 || bytes[nameEnd] !== SPACE || valueStart >= end) return undefined;
  if ((bytes[valueStart] as number) <= SPACE || (bytes[end - 1] as number) <= SPACE) return undefined;
  for (let at = valueStart; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte < SPACE || !isPlainByte(byte)) return undefined;
  }
  return {
    kind,
    name: bytes.toString("latin1", nameStart, nameEnd),
    value: bytes.toString("latin1", valueStart, end),
  };
}

function isAt(bytes: Buffer, start: number, text: Buffer): boolean {
  for (let index = 0; index < text.length; index++) if (bytes[start + index] !== text[index]) return false;
  return true;
}

function parseAnyLine(bytes: Buffer, start: number, end: number): MetadataLine {
  const line = bytes.toString("latin1", start, bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end);
  if (line.trimEnd() === "# EOF") return { kind: "eof" };
  const [, keyword, name = "", rest = ""] = FORM.exec(line) ?? [];
  if (keyword === undefined) return { kind: "comment" };
  if (keyword === "TYPE") return { kind: "type", name, value: rest.trim() };
  if (keyword === "UNIT") return { kind: "unit", name, value: rest.trim() };
  // Left to right, so that the second half of an escaped backslash begins no escape of its own.
  if (BAD_ESCAPE.test(rest.replaceAll("\\\\", "")) || !isUtf8(bytes.subarray(start, end))) return { kind: "comment" };
  return { kind: "help", name, value: Buffer.from(rest, "latin1").toString("utf8") };
}
