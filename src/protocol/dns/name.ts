import { MAX_LABEL_BYTES, MAX_NAME_BYTES } from "./constants.ts";

/**
 * A domain name as its text in one canonical spelling: ASCII letters in lower case, a final dot, and a backslash form for every byte that
 * is not a plain printable character. Equal names are equal strings, so they serve as keys; tables are built from text without encoding.
 */
export type DomainName = string;

/** Any usual spelling to the canonical one. Text that is not a domain name gives a key that no question can have. */
export function canonicalName(text: string): DomainName {
  const dotted = text.endsWith(".") ? text : `${text}.`;
  if (!/[^!-[\]-~]/.test(dotted)) return dotted.toLowerCase();
  return escapedName(labelsOf(Buffer.from(dotted, "utf8").toString("latin1")));
}

/** The spelling of labels given as bytes, one character each. */
export function escapedName(labels: readonly string[]): DomainName {
  return labels.length === 0 ? "." : labels.map((label) => `${escapedLabel(label)}.`).join("");
}

/** Writes the wire form at `at` and returns its end; -1 for a name that has none. `out` has room for the longest name. */
export function writeName(out: Buffer, at: number, name: DomainName): number {
  const labels = name.includes("\\") ? labelsOf(name) : name.split(".").slice(0, -1);
  let end = at;
  for (const label of name === "." ? [] : labels) {
    if (label.length === 0 || label.length > MAX_LABEL_BYTES || end + label.length + 2 - at > MAX_NAME_BYTES) return -1;
    out[end] = label.length;
    for (let index = 0; index < label.length; index++) out[end + 1 + index] = label.charCodeAt(index);
    end += 1 + label.length;
  }
  out[end] = 0;
  return end + 1;
}

/** The name one label up; the parent of the last label is "", as the root has no place among the names of a table. */
export function parentName(name: DomainName): DomainName {
  let dot = name.indexOf(".");
  while (dot > 0 && isEscaped(name, dot)) dot = name.indexOf(".", dot + 1);
  return name.slice(dot + 1);
}

/** Whether `name` is `suffix` or lies below it. */
export function isAtOrBelow(name: DomainName, suffix: DomainName): boolean {
  if (!name.endsWith(suffix)) return false;
  const boundary = name.length - suffix.length - 1;
  return boundary < 0 || (name.charAt(boundary) === "." && !isEscaped(name, boundary));
}

/**
 * The offset after the name at `offset`, or -1 when the bytes are not a name. Pointers are not followed: one that does not lead to an earlier
 * byte of the message is refused, as every loop has such a pointer.
 */
export function skipName(message: Uint8Array, offset: number): number {
  let at = offset;
  while (at < message.length) {
    const length = message[at] ?? 0;
    if (length === 0) return at + 1 - offset > MAX_NAME_BYTES ? -1 : at + 1;
    if (length >= 0xc0) {
      if (at + 1 >= message.length) return -1;
      const target = ((length & 0x3f) << 8) | (message[at + 1] ?? 0);
      return target < offset ? at + 2 : -1;
    }
    if (length > MAX_LABEL_BYTES) return -1;
    at += 1 + length;
  }
  return -1;
}

/** The labels of a name with final dot, escapes resolved to the bytes they stand for. */
function labelsOf(name: string): string[] {
  const labels = [""];
  for (const [part = ""] of name.matchAll(/\\\d{3}|\\.|[^\\]|\\$/gs)) {
    const last = labels.length - 1;
    if (part === ".") labels.push("");
    else if (/^\\\d{3}$/.test(part)) labels[last] += String.fromCharCode(Number(part.slice(1)) & 0xff);
    else labels[last] += part.length > 1 ? part.slice(1) : part;
  }
  return labels.slice(0, -1);
}

function escapedLabel(label: string): string {
  return label.replace(/[^!-[\]-~]|\.|[A-Z]/g, (character) => {
    if (character === "." || character === "\\") return `\\${character}`;
    if (character >= "A" && character <= "Z") return character.toLowerCase();
    return `\\${String(character.charCodeAt(0)).padStart(3, "0")}`;
  });
}

function isEscaped(name: DomainName, at: number): boolean {
  let backslashes = 0;
  while (name.charAt(at - 1 - backslashes) === "\\") backslashes++;
  return backslashes % 2 === 1;
}
