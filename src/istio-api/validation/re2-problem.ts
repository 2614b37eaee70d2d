/**
 * Whether RE2 (which Envoy uses) would refuse a regular expression, in the words of Go's parser; undefined when it takes it. JavaScript's
 * own engine knows more (look-around, back references), so that it cannot be asked.
 */
export function re2Problem(pattern: string): string | undefined {
  try {
    parse(pattern);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Refusal) return `error parsing regexp: ${thrown.message}`;
    throw thrown;
  }
}

class Refusal extends Error {
  constructor(reason: string, part: string) {
    super(part === "" ? reason : `${reason}: \`${part}\``);
  }
}

const MAX_REPEAT = 1000;
const MAX_DEPTH = 1000;
const MAX_BYTE = 0xff;
const PERL_CLASSES = "dDsSwW";
const SIMPLE_ESCAPES = "AbBzCafnrtvQ";
const POSIX_CLASS = /^\[:\^?(alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]/;
const GROUP_NAME = /^\(\?P?<([A-Za-z0-9_]+)>/;
const REPEAT = /^\{(\d+)(,(\d*))?\}/;
const FLAGS = /^\(\?[imsU]*(-[imsU]+)?[:)]/;

function parse(pattern: string): void {
  let at = 0;
  let depth = 0;
  /** Text of the last repetition, when nothing stands between it and the next character. */
  let repeated: string | undefined;
  let hasOperand = false;
  const names = new Set<string>();
  const operand = () => {
    hasOperand = true;
    repeated = undefined;
  };
  while (at < pattern.length) {
    const rest = pattern.slice(at, at + 64);
    const char = pattern[at] ?? "";
    if (pattern.startsWith("\\Q\\E", at)) {
      // Quotes nothing, and stands between nothing.
      at += 4;
    } else if (char === "\\") {
      at += escapeLength(pattern, at);
      operand();
    } else if (char === "[") {
      at = classEnd(pattern, at);
      operand();
    } else if (char === "(") {
      depth += 1;
      if (depth > MAX_DEPTH) throw new Refusal("expression nests too deeply", "");
      at += groupLength(pattern, at, names);
      // `(?i)` sets flags and opens nothing.
      if (pattern[at - 1] === ")") depth -= 1;
      hasOperand = false;
      repeated = undefined;
    } else if (char === ")") {
      if (depth === 0) throw new Refusal("unexpected )", pattern);
      depth -= 1;
      at += 1;
      operand();
    } else if (char === "|") {
      hasOperand = false;
      repeated = undefined;
      at += 1;
    } else {
      const operator = "*+?".includes(char) ? char : REPEAT.exec(rest)?.[0];
      if (operator === undefined) {
        at += 1;
        operand();
        continue;
      }
      checkRepeat(operator);
      const lazy = pattern[at + operator.length] === "?" ? "?" : "";
      if (!hasOperand) throw new Refusal("missing argument to repetition operator", operator + lazy);
      if (repeated !== undefined) throw new Refusal("invalid nested repetition operator", repeated + operator + lazy);
      repeated = operator + lazy;
      at += operator.length + lazy.length;
    }
  }
  if (depth > 0) throw new Refusal("missing closing )", pattern);
}

function checkRepeat(operator: string): void {
  const [, least, comma, most] = REPEAT.exec(operator) ?? [];
  if (least === undefined) return;
  const isOpen = comma !== undefined && (most ?? "") === "";
  const upper = isOpen ? Number(least) : Number(most ?? least);
  if (Number(least) > MAX_REPEAT || upper > MAX_REPEAT || upper < Number(least)) {
    throw new Refusal("invalid repeat count", operator);
  }
}

/** How much of the pattern the opening of a group takes. */
function groupLength(pattern: string, at: number, names: Set<string>): number {
  const rest = pattern.slice(at, at + 256);
  if (!rest.startsWith("(?")) return 1;
  const named = GROUP_NAME.exec(rest);
  if (named !== null) {
    const name = named[1] ?? "";
    if (names.has(name)) throw new Refusal("duplicate capture group name", name);
    names.add(name);
    return named[0].length;
  }
  if (/^\(\?P?<(?![=!])/.test(rest)) throw new Refusal("invalid named capture", rest.split(">", 1)[0] ?? rest);
  const flags = FLAGS.exec(rest)?.[0];
  if (flags !== undefined) return flags.length;
  throw new Refusal("invalid or unsupported Perl syntax", rest.slice(0, rest.startsWith("(?<") ? 4 : 3));
}

/** Length of the escape at this index, outside or inside a class. */
function escapeLength(pattern: string, at: number, inClass = false): number {
  const char = pattern[at + 1];
  if (char === undefined) throw new Refusal("trailing backslash at end of expression", "");
  const rest = pattern.slice(at, at + 64);
  if (PERL_CLASSES.includes(char)) return 2;
  if (char === "p" || char === "P") {
    const property = /^\\[pP](?:\{\^?(?<long>[A-Za-z_]+)\}|(?<short>[A-Z]))/.exec(rest);
    const { long, short } = property?.groups ?? {};
    if (property === null || !isUnicodeProperty(long ?? short ?? "")) {
      throw new Refusal("invalid character class range", property?.[0] ?? rest.slice(0, 3));
    }
    return property[0].length;
  }
  if (char === "x") {
    const [code = ""] = /^\\x(\{[0-9A-Fa-f]+\}|[0-9A-Fa-f]{2})/.exec(rest) ?? [];
    if (code === "") throw new Refusal("invalid escape sequence", rest.slice(0, 2));
    // Envoy looks at bytes; a character beyond them has to be written as itself.
    if ((escapeCode(code.slice(1)) ?? 0) > MAX_BYTE) throw new Refusal("invalid escape sequence", code);
    return code.length;
  }
  if (/[0-7]/.test(char)) {
    const octal = /^\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(rest);
    if (octal !== null) return octal[0].length;
  }
  if (!inClass && char === "Q") {
    const end = pattern.indexOf("\\E", at);
    return (end === -1 ? pattern.length : end + 2) - at;
  }
  const isLetterOrDigit = /[A-Za-z0-9]/.test(char);
  const allowed = inClass ? "afnrtv" : SIMPLE_ESCAPES;
  if (isLetterOrDigit && !allowed.includes(char)) throw new Refusal("invalid escape sequence", `\\${char}`);
  // An escaped character outside the basic plane is two units long.
  return 1 + String.fromCodePoint(pattern.codePointAt(at + 1) ?? 0).length;
}

/** The index behind the closing bracket. */
function classEnd(pattern: string, start: number): number {
  let at = pattern[start + 1] === "^" ? start + 2 : start + 1;
  for (let first = true; first || pattern[at] !== "]"; first = false) {
    if (at >= pattern.length) throw new Refusal("missing closing ]", pattern.slice(start));
    const posix = POSIX_CLASS.exec(pattern.slice(at, at + 16));
    if (posix !== null) {
      at += posix[0].length;
      continue;
    }
    if (pattern.startsWith("[:", at) && pattern.indexOf(":]", at) !== -1) {
      throw new Refusal("invalid character class range", pattern.slice(at, pattern.indexOf(":]", at) + 2));
    }
    at = rangeEnd(pattern, at);
  }
  return at + 1;
}

/** One character of a class, or two with a hyphen between. */
function rangeEnd(pattern: string, at: number): number {
  const low = classCharacter(pattern, at);
  const isRange = pattern[low.end] === "-" && pattern[low.end + 1] !== "]" && pattern[low.end + 1] !== undefined;
  if (!isRange || low.code === undefined) return low.end;
  const from = low.end + 1;
  const high = classCharacter(pattern, from);
  // A range ends with a character: `[a-\d]` has none.
  if (high.code === undefined) throw new Refusal("invalid escape sequence", pattern.slice(from, from + 2));
  if (high.code < low.code) throw new Refusal("invalid character class range", pattern.slice(at, high.end));
  return high.end;
}

/** Without a code it is a class of its own, like `\d`. */
function classCharacter(pattern: string, at: number): { readonly end: number; readonly code: number | undefined } {
  if (pattern[at] === "\\") {
    const end = at + escapeLength(pattern, at, true);
    return { end, code: escapeCode(pattern.slice(at + 1, end)) };
  }
  const code = pattern.codePointAt(at) ?? 0;
  return { end: at + String.fromCodePoint(code).length, code };
}

const CONTROLS: Readonly<Record<string, number>> = { a: 7, t: 9, n: 10, v: 11, f: 12, r: 13 };

/** What stands behind the backslash, as a character. */
function escapeCode(escaped: string): number | undefined {
  const first = escaped[0] ?? "";
  if (first === "x") return Number.parseInt(escaped.replace(/^x\{?/, ""), 16);
  if (/[0-7]/.test(first)) return Number.parseInt(escaped, 8);
  return /[A-Za-z]/.test(first) ? CONTROLS[first] : escaped.codePointAt(0);
}

const CATEGORIES = new Set(
  "Any C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs".split(" "),
);
/** Scripts whose full name is as short as an abbreviation. */
const SHORT_SCRIPTS = new Set(["Cham", "Kawi", "Lisu", "Modi", "Newa", "Thai", "Toto"]);

/** Names that RE2 knows: general categories in short form, and scripts in long form. The runtime has the list of scripts. */
function isUnicodeProperty(name: string): boolean {
  if (CATEGORIES.has(name)) return true;
  if (name.length === 4 && !SHORT_SCRIPTS.has(name)) return false;
  try {
    new RegExp(`\\p{Script=${name}}`, "u");
    return true;
  } catch {
    return false;
  }
}
