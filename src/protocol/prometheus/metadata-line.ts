import { isUtf8 } from "node:buffer";

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

/** `bytes` from the `#` up to the newline, without it. */
export function parseMetadataLine(bytes: Buffer, start: number, end: number): MetadataLine {
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
