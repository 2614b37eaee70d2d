/** JSON data as block style YAML with sorted keys, in the form the reference's printer gives. Ends with a newline. */
export function printYaml(value: unknown): string {
  if (isBlock(value)) return lines(value, 0).join("");
  return `${inline(value, 0)}\n`;
}

function lines(value: unknown, indent: number): readonly string[] {
  const pad = " ".repeat(indent);
  if (Array.isArray(value)) return value.map((element) => `${pad}- ${afterDash(element, indent)}`);
  return sortedEntries(value).map(([key, member]) => {
    // Lists stay at the indentation of their key.
    if (isBlock(member))
      return `${pad}${text(key, indent)}:\n${lines(member, Array.isArray(member) ? indent : indent + 2).join("")}`;
    return `${pad}${text(key, indent)}: ${inline(member, indent)}\n`;
  });
}

/** The first line of a nested block shares the line of its dash. */
function afterDash(element: unknown, indent: number): string {
  if (!isBlock(element)) return `${inline(element, indent)}\n`;
  return lines(element, indent + 2)
    .join("")
    .slice(indent + 2);
}

function sortedEntries(value: unknown): readonly [string, unknown][] {
  return Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

function isBlock(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function inline(value: unknown, indent: number): string {
  if (Array.isArray(value)) return "[]";
  if (typeof value === "object" && value !== null) return "{}";
  if (typeof value === "string") return text(value, indent);
  if (typeof value === "number" && Number.isNaN(value)) return ".nan";
  if (value === Number.POSITIVE_INFINITY) return ".inf";
  return value === Number.NEGATIVE_INFINITY ? "-.inf" : String(value);
}

const OTHER_TYPE = new RegExp(
  [
    "", // nothing at all is null
    "~|null|Null|NULL|<<",
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

/** YAML's own escapes; JSON's would do for half of them only. */
function quoted(value: string): string {
  const escaped = value.replaceAll(/["\\]/g, "\\$&").replaceAll(/[\n\r\t]/g, (char) => ESCAPES[char] ?? char);
  return `"${escaped.replaceAll(new RegExp(SPECIAL, "gu"), (char) => numbered(char.codePointAt(0) ?? 0))}"`;
}

const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

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
