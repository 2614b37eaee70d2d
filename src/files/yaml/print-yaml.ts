/** JSON data as block style YAML with sorted keys, in the form the reference's printer gives. Ends with a newline. */
export function printYaml(value: unknown): string {
  if (isBlock(value)) return lines(value, 0).join("");
  return `${inline(value, 0, 0)}\n`;
}

function lines(value: unknown, indent: number): readonly string[] {
  const pad = " ".repeat(indent);
  if (Array.isArray(value)) return value.map((element) => `${pad}- ${afterDash(element, indent)}`);
  return sortedEntries(value).map(([key, member]) => {
    const name = text(key, indent);
    if (!isSimpleKey(name)) return `${pad}? ${folded(name, indent, indent + 2)}\n${pad}: ${afterDash(member, indent)}`;
    // Lists stay at the indentation of their key.
    if (isBlock(member))
      return `${pad}${name}:\n${lines(member, Array.isArray(member) ? indent : indent + 2).join("")}`;
    return `${pad}${name}: ${inline(member, indent, indent + name.length + 2)}\n`;
  });
}

/** YAML allows a key before its colon only on one line, and readers look ahead so far. */
const MAX_SIMPLE_KEY = 128;

function isSimpleKey(printed: string): boolean {
  return !/[\n\u0085\u2028\u2029]/.test(printed) && Buffer.byteLength(printed) <= MAX_SIMPLE_KEY;
}

/** The first line of a nested block shares the line of its dash. */
function afterDash(element: unknown, indent: number): string {
  if (!isBlock(element)) return `${inline(element, indent, indent + 2)}\n`;
  return lines(element, indent + 2)
    .join("")
    .slice(indent + 2);
}

function sortedEntries(value: unknown): readonly [string, unknown][] {
  return Object.entries(value as object).sort(([a], [b]) => compareKeys(a, b));
}

/** Runs of digits compare as numbers, and letters come after everything else, except behind a digit. */
function compareKeys(left: string, right: string): number {
  const [a, b] = [[...left], [...right]];
  let isAfterDigit = false;
  for (let at = 0; at < a.length && at < b.length; at += 1) {
    const [x = "", y = ""] = [a[at], b[at]];
    if (x === y) {
      isAfterDigit = isDigit(x);
      continue;
    }
    const [isLeftLetter, isRightLetter] = [isLetter(x), isLetter(y)];
    if (isLeftLetter && isRightLetter) return x < y ? -1 : 1;
    if (isLeftLetter || isRightLetter) return isLeftLetter === isAfterDigit ? -1 : 1;
    const [m, n] = [digitsFrom(a, at), digitsFrom(b, at)];
    // Zeros inside of a number count.
    const prefix = (x === "0" || y === "0") && isInsideNumber(a, at) ? "1" : "";
    const difference = Number(prefix + m) - Number(prefix + n) || m.length - n.length;
    if (difference !== 0) return difference;
    return x < y ? -1 : 1;
  }
  return a.length - b.length;
}

function isDigit(char: string): boolean {
  return /\p{Nd}/u.test(char);
}

function isLetter(char: string): boolean {
  return /\p{L}/u.test(char);
}

function digitsFrom(chars: readonly string[], start: number): string {
  let end = start;
  while (end < chars.length && isDigit(chars[end] ?? "")) end += 1;
  return chars.slice(start, end).join("");
}

function isInsideNumber(chars: readonly string[], start: number): boolean {
  for (let at = start - 1; at >= 0 && isDigit(chars[at] ?? ""); at -= 1) if (chars[at] !== "0") return true;
  return false;
}

function isBlock(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

/** `column` is where the value starts, which decides where long text breaks. */
function inline(value: unknown, indent: number, column: number): string {
  if (Array.isArray(value)) return "[]";
  if (typeof value === "object" && value !== null) return "{}";
  if (typeof value === "string") return folded(text(value, indent), indent, column);
  if (typeof value === "number" && Number.isNaN(value)) return ".nan";
  if (value === Number.POSITIVE_INFINITY) return ".inf";
  return value === Number.NEGATIVE_INFINITY ? "-.inf" : String(value);
}

const OTHER_TYPE = new RegExp(
  [
    "", // nothing at all is null
    "~|null|Null|NULL",
    "y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF|true|True|TRUE|false|False|FALSE",
    "[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)",
    "[-+]?(?:[0-9][0-9_]*\\.?[0-9_]*|\\.[0-9_]*)(?:[eE][-+]?[0-9]+)?",
    "[-+]?\\.(?:inf|Inf|INF)|\\.(?:nan|NaN|NAN)",
    "[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\\.[0-9_]*)?", // base 60
    "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?",
  ]
    .map((form) => `^(?:${form})$`)
    .join("|"),
);
/** What the reference does not print as it is: controls with the tab, and all beyond the basic plane. */
const SPECIAL = /[\u0000-\u0009\u000b-\u001f\u007f-\u0084\u0086-\u009f\ud800-\udfff\ufeff\u{10000}-\u{10ffff}]/u;
const NOT_PLAIN = /^[#,[\]{}&*!|>'"%@`]|^[-?:](?:\s|$)|^(?:---|\.\.\.)|^\s|\s$|:(?:\s|$)|\s#/;

/** Plain where YAML reads the same text back; double quotes for what would be another type, single quotes for other reasons. */
function text(value: string, indent: number): string {
  if (SPECIAL.test(value)) return quoted(value);
  // Blanks at the end of a line would not be seen.
  if (value.includes("\n")) return / (?:\n|$)/.test(value) ? quoted(value) : literal(value, indent);
  if (OTHER_TYPE.test(value)) return JSON.stringify(value);
  return NOT_PLAIN.test(value) ? `'${value.replaceAll("'", "''")}'` : value;
}

/** Text with blanks continues on the next line once it is longer than this. */
const FOLD_COLUMN = 80;

function folded(printed: string, indent: number, start: number): string {
  if (printed.startsWith("|") || start + printed.length <= FOLD_COLUMN || !printed.includes(" ")) return printed;
  const quote = /^['"]/.exec(printed)?.[0] ?? "";
  const pad = " ".repeat(indent + 2);
  const last = printed.length - quote.length;
  let [result, column] = ["", start];
  for (let at = 0; at < printed.length; at += 1) {
    const char = printed[at] ?? "";
    const isLone = char === " " && printed[at - 1] !== " " && (quote === '"' || printed[at + 1] !== " ");
    if (isLone && column > FOLD_COLUMN && at > quote.length && at < last - 1) {
      // A blank at the start of a line would be lost.
      result += `\n${pad}${quote === '"' && printed[at + 1] === " " ? "\\" : ""}`;
      column = pad.length;
      continue;
    }
    result += char;
    column += 1;
  }
  return result;
}

/** YAML's own escapes; JSON's would do for half of them only. */
function quoted(value: string): string {
  const toEscape = (char: string) => ESCAPES[char] ?? numbered(char.codePointAt(0) ?? 0);
  const escaped = value.replaceAll(/["\\]/g, "\\$&").replaceAll("\n", "\\n");
  return `"${escaped.replaceAll(new RegExp(SPECIAL, "gu"), toEscape)}"`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\0": "\\0",
  "\u0007": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  "\u001b": "\\e",
};

function numbered(code: number): string {
  const [letter, digits] = code <= 0xff ? ["x", 2] : code <= 0xffff ? (["u", 4] as const) : (["U", 8] as const);
  return `\\${letter}${code
    .toString(16)
    .toUpperCase()
    .padStart(digits as number, "0")}`;
}

function literal(value: string, indent: number): string {
  const chomp = !value.endsWith("\n") ? "-" : /\n\n$/.test(value) || value === "\n" ? "+" : "";
  // A first line that starts with a blank hides where the text begins, so the indentation is given.
  const hint = /^[ \n]/.test(value) ? "2" : "";
  const pad = " ".repeat(indent + 2);
  const body = (value.endsWith("\n") ? value.slice(0, -1) : value)
    .split("\n")
    .map((line) => (line === "" ? "" : pad + line));
  return `|${hint}${chomp}\n${body.join("\n")}`;
}
