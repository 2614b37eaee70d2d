const END = "unexpected end of JSON input";
const VALUE = "looking for beginning of value";
const KEY = "looking for beginning of object key string";
/** Go's decoder stops at the same depth. */
const MAX_DEPTH = 10_000;

/**
 * The reference's words for text that is not JSON; undefined when the text is valid. A scanner of its own, because the texts of
 * JSON.parse change between versions of the engine and carry no position in half of the cases.
 */
export function jsonSyntaxError(text: string): string | undefined {
  const scan: Scan = { text, at: 0, depth: 0 };
  return value(scan) ?? (peek(scan) === undefined ? undefined : unexpected(scan, "after top-level value"));
}

interface Scan {
  readonly text: string;
  at: number;
  depth: number;
}

type Problem = string | undefined;

function value(scan: Scan): Problem {
  const first = peek(scan);
  if (first === "{") return members(scan, "}", member, "after object key:value pair", KEY);
  if (first === "[") return members(scan, "]", value, "after array element", VALUE);
  if (first === '"') return string(scan);
  if (first === "t") return literal(scan, "true");
  if (first === "f") return literal(scan, "false");
  if (first === "n") return literal(scan, "null");
  if (first !== undefined && /[-\d]/.test(first)) return number(scan);
  return unexpected(scan, VALUE);
}

function members(scan: Scan, close: string, one: (scan: Scan) => Problem, after: string, first: string): Problem {
  if (++scan.depth > MAX_DEPTH) return "exceeded max depth";
  scan.at++;
  if (peek(scan) !== close) {
    for (;;) {
      if (first === KEY && peek(scan) !== '"') return unexpected(scan, KEY);
      const problem = one(scan);
      if (problem !== undefined) return problem;
      const next = peek(scan);
      if (next === close) break;
      if (next !== ",") return unexpected(scan, after);
      scan.at++;
      // A comma must be followed by another member, never by the closing bracket.
      if (peek(scan) === close) return unexpected(scan, first);
    }
  }
  scan.at++;
  scan.depth--;
  return undefined;
}

function member(scan: Scan): Problem {
  const problem = string(scan);
  if (problem !== undefined) return problem;
  if (peek(scan) !== ":") return unexpected(scan, "after object key");
  scan.at++;
  return value(scan);
}

function string(scan: Scan): Problem {
  for (scan.at++; scan.at < scan.text.length; scan.at++) {
    const character = scan.text[scan.at] ?? "";
    if (character === '"') {
      scan.at++;
      return undefined;
    }
    if (character < " ") return unexpected(scan, "in string literal");
    if (character !== "\\") continue;
    const escaped = scan.text[++scan.at];
    if (escaped === undefined) return END;
    if (escaped !== "u" && !'"\\/bfnrt'.includes(escaped)) return unexpected(scan, "in string escape code");
    for (let digits = 0; escaped === "u" && digits < 4; digits++) {
      if (!/^[\da-f]$/i.test(scan.text[++scan.at] ?? ""))
        return unexpected(scan, "in \\u hexadecimal character escape");
    }
  }
  return END;
}

/** Go names the letter it expected. */
function literal(scan: Scan, word: string): Problem {
  for (const expected of word) {
    if (scan.text[scan.at] !== expected) return unexpected(scan, `in literal ${word} (expecting ${show(expected)})`);
    scan.at++;
  }
  return undefined;
}

function number(scan: Scan): Problem {
  const matched = /^-?(?:0|[1-9]\d*)/.exec(scan.text.slice(scan.at))?.[0];
  scan.at += matched?.length ?? 1;
  if (matched === undefined) return unexpected(scan, "in numeric literal");
  if (scan.text[scan.at] === "." && !digits(scan, /^\.\d+/))
    return unexpected(scan, "after decimal point in numeric literal");
  if (/[eE]/.test(scan.text[scan.at] ?? "") && !digits(scan, /^[eE][+-]?\d+/))
    return unexpected(scan, "in exponent of numeric literal");
  return undefined;
}

function digits(scan: Scan, form: RegExp): boolean {
  const matched = form.exec(scan.text.slice(scan.at))?.[0];
  scan.at += matched?.length ?? 1;
  return matched !== undefined;
}

/** Skips blanks and looks at the next character without taking it. */
function peek(scan: Scan): string | undefined {
  while (/^[ \t\r\n]$/.test(scan.text[scan.at] ?? "")) scan.at++;
  return scan.text[scan.at];
}

function unexpected(scan: Scan, where: string): string {
  const code = scan.text.codePointAt(scan.at);
  return code === undefined ? END : `invalid character ${show(String.fromCodePoint(code))} ${where}`;
}

function show(character: string): string {
  if (character === "'") return "'\\''";
  return character === "\\" || character < " " ? `'${JSON.stringify(character).slice(1, -1)}'` : `'${character}'`;
}
