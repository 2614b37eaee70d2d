/** Go's quoted text (strconv.Quote and Unquote), which pod info files, templates and error messages use. */

const SIMPLE: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  "\\": 92,
  "'": 39,
  '"': 34,
};
/** Nothing to escape: all that a start writes of its flags. */
const PLAIN = /^[ !#-[\]-~]*$/;
const ESCAPE = /\\(?:([abfnrtv\\'"])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3}))/y;

/**
 * The value of a double-quoted, back-quoted or single-quoted (exactly one character) Go literal; undefined when it is none. Byte escapes
 * that do not make up UTF-8 become U+FFFD, as they would in JSON.
 */
export function unquoteGo(text: string): string | undefined {
  const quote = text[0];
  if (text.length < 2 || quote === undefined || text.at(-1) !== quote) return undefined;
  const inner = text.slice(1, -1);
  if (quote === "`") return inner.includes("`") ? undefined : inner.replaceAll("\r", "");
  if ((quote !== '"' && quote !== "'") || inner.includes("\n")) return undefined;
  const value = unescapeGo(inner, quote);
  if (quote === "'" && value !== undefined && [...value].length !== 1) return undefined;
  return value;
}

/** Go's double-quoted form: printable characters as they are, others escaped. */
export function quoteGo(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  let quoted = '"';
  for (const char of text) quoted += quoteChar(char, '"');
  return `${quoted}"`;
}

/** Go's single-quoted form of one character. */
export function quoteGoChar(code: number): string {
  const valid = code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000);
  return `'${quoteChar(valid ? String.fromCodePoint(code) : "\ufffd", "'")}'`;
}

function unescapeGo(inner: string, quote: string): string | undefined {
  if (!inner.includes("\\")) return inner.includes(quote) ? undefined : inner;
  const pieces: Buffer[] = [];
  for (let at = 0; at < inner.length; ) {
    if (inner[at] !== "\\") {
      const next = inner.indexOf("\\", at);
      const plain = inner.slice(at, next === -1 ? inner.length : next);
      if (plain.includes(quote)) return undefined;
      pieces.push(Buffer.from(plain));
      at += plain.length;
      continue;
    }
    ESCAPE.lastIndex = at;
    const matched = ESCAPE.exec(inner);
    const piece = matched === null ? undefined : escapeBytes(matched, quote);
    if (matched === null || piece === undefined) return undefined;
    pieces.push(piece);
    at += matched[0].length;
  }
  return Buffer.concat(pieces).toString("utf8");
}

function escapeBytes([, simple, hex, short, long, octal]: RegExpExecArray, quote: string): Buffer | undefined {
  if (simple !== undefined) {
    // The other quote character needs no escape, and Go refuses one.
    if ((simple === "'" || simple === '"') && simple !== quote) return undefined;
    return Buffer.from([SIMPLE[simple] ?? 0]);
  }
  if (hex !== undefined) return Buffer.from([Number.parseInt(hex, 16)]);
  if (octal !== undefined) {
    const value = Number.parseInt(octal, 8);
    return value > 255 ? undefined : Buffer.from([value]);
  }
  const code = Number.parseInt(short ?? long ?? "", 16);
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return undefined;
  return Buffer.from(String.fromCodePoint(code));
}

const NAMED: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
};
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

function quoteChar(char: string, quote: string): string {
  if (char === quote) return `\\${char}`;
  const named = NAMED[char];
  if (named !== undefined) return named;
  if (PRINTABLE.test(char)) return char;
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code >= 0xd800 && code < 0xe000) return "\ufffd";
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}
