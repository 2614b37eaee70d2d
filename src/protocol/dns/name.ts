import { MAX_LABEL_BYTES, MAX_NAME_BYTES } from "./constants.ts";

/**
 * A name in wire form (length-prefixed labels and the root's zero byte) held as a latin1 string, one character per byte: it is compared
 * and hashed without decoding, and a length byte (at most 63) can never be taken for a letter.
 */
export type WireName = string;

export const ROOT_NAME: WireName = "\0";

/** Undefined for text that is no domain name. Honours `\.` and `\DDD`; a missing final dot is implied. ASCII letters become lower case. */
export function wireName(text: string): WireName | undefined {
  if (text === "" || text === ".") return ROOT_NAME;
  const bytes = lowerAscii(/^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text, "utf8").toString("latin1"));
  const labels = bytes.includes("\\") ? unescapedLabels(bytes) : bytes.split(".");
  if (labels.at(-1) === "") labels.pop();
  let wire = "";
  for (const label of labels) {
    if (label.length === 0 || label.length > MAX_LABEL_BYTES) return undefined;
    wire += String.fromCharCode(label.length) + label;
  }
  return wire.length < MAX_NAME_BYTES ? wire + ROOT_NAME : undefined;
}

/** The text form, with final dot and escapes, for logs and error messages. */
export function wireNameText(name: WireName): string {
  if (name === ROOT_NAME || name === "") return ".";
  let text = "";
  let at = 0;
  for (let length = name.charCodeAt(0); length > 0; length = name.charCodeAt(at)) {
    for (const character of name.slice(at + 1, at + 1 + length)) text += escapedCharacter(character);
    text += ".";
    at += 1 + length;
  }
  return text;
}

/**
 * The offset after the name at `offset`, or -1 when the bytes are no name. Pointers are not followed: one that does not lead to an earlier
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

/** Letters A to Z only: names in other scripts arrive as punycode, and bytes above 127 have no case in DNS. */
export function lowerAscii(text: string): string {
  return /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text;
}

function unescapedLabels(text: string): string[] {
  const labels = [""];
  for (const [part = ""] of text.matchAll(/\\\d{3}|\\.|[^\\]|\\$/gs)) {
    const last = labels.length - 1;
    if (part === ".") labels.push("");
    else if (/^\\\d{3}$/.test(part)) labels[last] += String.fromCharCode(Number(part.slice(1)) & 0xff);
    else labels[last] += part.length > 1 && part.startsWith("\\") ? part.slice(1) : part;
  }
  return labels;
}

function escapedCharacter(character: string): string {
  if (character === "." || character === "\\") return `\\${character}`;
  const code = character.charCodeAt(0);
  return code > 0x20 && code < 0x7f ? character : `\\${String(code).padStart(3, "0")}`;
}
