const END = "unexpected end of JSON input";
/** Go's decoder stops at the same depth. */
const MAX_DEPTH = 10_000;

type Bracket = "{" | "[";

const CLOSING = { "{": "}", "[": "]" } as const;
const AFTER = { "{": "after object key:value pair", "[": "after array element" } as const;

/**
 * The reference's words for text that is not JSON; undefined when the text is valid. A scanner of its own, because the texts of
 * JSON.parse change between versions of the engine and carry no position in half of the cases.
 */
export function jsonSyntaxError(text: string): string | undefined {
  const scan: Scan = { text, at: 0, open: [] };
  let step: Step = "value";
  while (typeof step === "string") step = step === "value" ? value(scan) : afterValue(scan);
  return step.problem;
}

interface Scan {
  readonly text: string;
  at: number;
  /** Innermost last. Not in calls of calls: a text may nest deeper than the engine's stack. */
  readonly open: Bracket[];
}

type Problem = string | undefined;
/** What is expected next, or the end. */
type Step = "value" | "after-value" | { readonly problem: Problem };

function value(scan: Scan): Step {
  const first = peek(scan);
  if (first === "{" || first === "[") return opened(scan, first);
  const problem = scalar(scan, first);
  return problem === undefined ? "after-value" : { problem };
}

function opened(scan: Scan, bracket: Bracket): Step {
  if (scan.open.length === MAX_DEPTH) return { problem: "exceeded max depth" };
  scan.open.push(bracket);
  scan.at++;
  return peek(scan) === CLOSING[bracket] ? "after-value" : member(scan, bracket);
}

function afterValue(scan: Scan): Step {
  const bracket = scan.open.at(-1);
  const next = peek(scan);
  if (bracket === undefined)
    return { problem: next === undefined ? undefined : unexpected(scan, "after top-level value") };
  if (next !== "," && next !== CLOSING[bracket]) return { problem: unexpected(scan, AFTER[bracket]) };
  scan.at++;
  if (next === ",") return member(scan, bracket);
  scan.open.pop();
  return "after-value";
}

/** Up to where its value begins. */
function member(scan: Scan, bracket: Bracket): Step {
  const problem = bracket === "{" ? key(scan) : undefined;
  return problem === undefined ? "value" : { problem };
}

function key(scan: Scan): Problem {
  if (peek(scan) !== '"') return unexpected(scan, "looking for beginning of object key string");
  const problem = string(scan);
  if (problem !== undefined) return problem;
  if (peek(scan) !== ":") return unexpected(scan, "after object key");
  scan.at++;
  return undefined;
}

function scalar(scan: Scan, first: string | undefined): Problem {
  if (first === '"') return string(scan);
  if (first === "t") return literal(scan, "true");
  if (first === "f") return literal(scan, "false");
  if (first === "n") return literal(scan, "null");
  if (first !== undefined && /[-\d]/.test(first)) return number(scan);
  return unexpected(scan, "looking for beginning of value");
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
  if (skip(scan, /^\./) > 0 && skip(scan, /^\d+/) === 0)
    return unexpected(scan, "after decimal point in numeric literal");
  if (skip(scan, /^[eE][+-]?/) > 0 && skip(scan, /^\d+/) === 0)
    return unexpected(scan, "in exponent of numeric literal");
  return undefined;
}

/** How many characters of the form were there. */
function skip(scan: Scan, form: RegExp): number {
  const length = form.exec(scan.text.slice(scan.at))?.[0].length ?? 0;
  scan.at += length;
  return length;
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
