import { quoteGo, quoteGoChar } from "../base/go-quote.ts";
import { formatFloat } from "./format-float.ts";
import { formatValue } from "./format-value.ts";
import { GoEnum, GoStruct, isMap, kindOf, mapEntries, toNumber, typeName } from "./values.ts";

interface Directive {
  readonly flags: string;
  readonly width: number | undefined;
  readonly precision: number | undefined;
  readonly verb: string;
}

const DIRECTIVE = /%([+\-# 0]*)(\[\d+\])?(\*|\d+)?(?:\.(\[\d+\])?(\*|\d+)?)?(\[\d+\])?([\s\S])?/gu;

/** Go refuses wider fields too, and so keeps a format from filling the memory. */
const MAX_WIDTH = 1_000_000;

/** fmt.Sprintf for the values a template can hold, including its notes about wrong formats (`%!d(string=x)`). */
export function sprintf(format: string, args: readonly unknown[]): string {
  let next = 0;
  let reordered = false;
  const take = () => args[next++];
  const jump = (index: string | undefined) => {
    if (index === undefined) return true;
    reordered = true;
    next = Number(index.slice(1, -1)) - 1;
    return next >= 0 && next < args.length;
  };
  const text = format.replaceAll(
    DIRECTIVE,
    (all: string, flags: string, widthIndex, width, precisionIndex, precision, verbIndex, verb) => {
      if (verb === undefined) return "%!(NOVERB)";
      if (!jump(widthIndex)) return `%!${verb}(BADINDEX)`;
      const wide = width === "*" ? starValue(take()) : width === undefined ? undefined : Number(width);
      if (!jump(precisionIndex)) return `%!${verb}(BADINDEX)`;
      const hasPrecision = all.includes(".");
      const exact = precision === "*" ? starValue(take()) : hasPrecision ? Number(precision ?? 0) : undefined;
      if (!jump(verbIndex)) return `%!${verb}(BADINDEX)`;
      if (verb === "%") return "%";
      if (Number.isNaN(wide) || Math.abs(wide ?? 0) > MAX_WIDTH) return `%!(BADWIDTH)${verb}`;
      if (Number.isNaN(exact) || Math.abs(exact ?? 0) > MAX_WIDTH) return `%!(BADPREC)${verb}`;
      if (next >= args.length) return `%!${verb}(MISSING)`;
      const left = wide !== undefined && wide < 0;
      const directive = {
        // Asked for by name, %+v means "with field names" and does not sign numbers.
        flags: (verb === "v" ? flags.replaceAll("+", "") : flags) + (left ? "-" : ""),
        width: wide === undefined ? undefined : Math.abs(wide),
        precision: exact === undefined || exact < 0 ? undefined : exact,
        verb,
      };
      return formatArgument(take(), directive);
    },
  );
  if (reordered || next >= args.length) return text;
  const extra = args.slice(next).map((arg) => (arg === undefined || arg === null ? "<nil>" : withType(arg)));
  return `${text}%!(EXTRA ${extra.join(", ")})`;
}

function starValue(value: unknown): number {
  return kindOf(value) === "int" ? toNumber(value) : Number.NaN;
}

function formatArgument(value: unknown, directive: Directive): string {
  const { verb } = directive;
  if (verb === "T") return formatText(typeName(value), { ...directive, verb: "s" });
  if (value === undefined || value === null) return verb === "v" ? pad("<nil>", directive) : `%!${verb}(<nil>)`;
  switch (kindOf(value)) {
    case "string":
      return formatText(value as string, directive);
    case "bool":
      return verb === "t" || verb === "v" ? pad(String(value), directive) : bad(value, directive);
    case "int":
      return formatInteger(value, directive);
    case "float":
      return formatFloating(value as number, directive);
    default:
      return formatMembers(value, directive);
  }
}

/** Verbs apply to the members: `%d` of a list formats each of its elements. */
function formatMembers(value: unknown, directive: Directive): string {
  const member = (item: unknown) => (item === undefined || item === null ? "<nil>" : formatArgument(item, directive));
  if (Array.isArray(value)) return `[${value.map(member).join(" ")}]`;
  if (isMap(value)) {
    return `map[${mapEntries(value)
      .map(([key, item]) => `${member(key)}:${member(item)}`)
      .join(" ")}]`;
  }
  return value instanceof GoStruct ? pad(String(value), directive) : formatValue(value);
}

function formatText(text: string, directive: Directive): string {
  const { verb, flags, precision } = directive;
  const shown = precision === undefined ? text : [...text].slice(0, precision).join("");
  switch (verb) {
    case "v":
      return pad(flags.includes("#") ? quoteGo(shown) : shown, directive);
    case "s":
      return pad(shown, directive);
    case "q":
      return pad(quoteText(shown, flags), directive);
    case "x":
    case "X": {
      const bytes = [...Buffer.from(shown)].map((byte) => byte.toString(16).padStart(2, "0"));
      const prefix = flags.includes("#") && shown !== "" ? "0x" : "";
      const hex = prefix + bytes.join(flags.includes(" ") ? ` ${prefix}` : "");
      return pad(verb === "X" ? hex.toUpperCase() : hex, directive);
    }
    default:
      return bad(text, directive);
  }
}

function quoteText(text: string, flags: string): string {
  if (flags.includes("#") && !/[`\x00-\x08\x0a-\x1f\x7f\ufeff]/.test(text)) return `\`${text}\``;
  if (!flags.includes("+")) return quoteGo(text);
  return quoteGo(text).replaceAll(/[^\x00-\x7f]/gu, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

const BASES: Readonly<Record<string, readonly [number, string]>> = {
  d: [10, ""],
  v: [10, ""],
  b: [2, "0b"],
  o: [8, "0"],
  O: [8, "0o"],
  x: [16, "0x"],
  X: [16, "0X"],
};

function formatInteger(value: unknown, directive: Directive): string {
  const { verb, flags, precision } = directive;
  if (value instanceof GoEnum && (verb === "v" || verb === "s")) return pad(value.label, directive);
  const number = BigInt(typeof value === "bigint" ? value : toNumber(value));
  if (verb === "c") return pad(character(number), directive);
  if (verb === "q") return pad(quoteGoChar(Number(number)), directive);
  if (verb === "U") return pad(`U+${number.toString(16).toUpperCase().padStart(4, "0")}`, directive);
  const base = BASES[verb];
  if (base === undefined) return bad(value, directive);
  const [radix, prefix] = base;
  // A precision of zero prints nothing for zero.
  if (precision === 0 && number === 0n) return pad("", { ...directive, flags: flags.replace("0", "") });
  let digits = (number < 0n ? -number : number).toString(radix).padStart(precision ?? 0, "0");
  if (verb === "X") digits = digits.toUpperCase();
  const marked = flags.includes("#") && verb !== "v" ? prefix : verb === "O" ? "0o" : "";
  return padNumber(sign(number < 0n, flags), marked + digits, directive, precision === undefined);
}

/** Numbers that are not a character become the replacement character. */
function character(code: bigint): string {
  const isCharacter = code >= 0n && code <= 0x10ffffn && !(code >= 0xd800n && code < 0xe000n);
  return String.fromCodePoint(isCharacter ? Number(code) : 0xfffd);
}

function formatFloating(value: number, directive: Directive): string {
  const { verb, flags, precision } = directive;
  const shape = verb === "v" ? "g" : verb;
  if (!"eEfFgG".includes(shape)) return bad(value, directive);
  const exact = precision ?? (/[eEfF]/.test(shape) ? 6 : -1);
  const text = formatFloat(Math.abs(value), shape as "e" | "f" | "g", exact);
  return padNumber(sign(value < 0 || Object.is(value, -0), flags), text, directive, Number.isFinite(value));
}

function sign(negative: boolean, flags: string): string {
  if (negative) return "-";
  return flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
}

/** Zeros go between sign and digits. */
function padNumber(prefix: string, digits: string, directive: Directive, mayZero: boolean): string {
  const { flags, width } = directive;
  if (!mayZero || !flags.includes("0") || flags.includes("-") || width === undefined)
    return pad(prefix + digits, { ...directive, flags: flags.replace("0", "") });
  return prefix + digits.padStart(width - prefix.length, "0");
}

function pad(text: string, { flags, width }: Directive): string {
  const missing = (width ?? 0) - [...text].length;
  if (missing <= 0) return text;
  if (flags.includes("-")) return text + " ".repeat(missing);
  return (flags.includes("0") ? "0" : " ").repeat(missing) + text;
}

/** Go's note about a verb that does not fit: the value as `%v` would show it, width and flags included. */
function bad(value: unknown, directive: Directive): string {
  return `%!${directive.verb}(${typeName(value)}=${formatArgument(value, { ...directive, verb: "v" })})`;
}

function withType(value: unknown): string {
  return `${typeName(value)}=${formatValue(value)}`;
}
