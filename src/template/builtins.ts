import { equals, isLess } from "./compare.ts";
import { formatValue, printedSize, sprint } from "./format-value.ts";
import type { FunctionTable } from "./function-table.ts";
import { fixed, textArg, variadic } from "./function-table.ts";
import type { Meter } from "./limits.ts";
import { sprintf } from "./printf.ts";
import { TemplateFunctionError } from "./template-error.ts";
import { isMap, isTrue, kindOf, lengthOf, mapGet, toNumber, typeName } from "./values.ts";

/** The functions of every Go template. `and` and `or` are here for their arity only: the evaluator stops at the deciding argument. */
export const BUILTINS: FunctionTable = {
  and: variadic(1, (args) => args.find((arg) => !isTrue(arg)) ?? args.at(-1)),
  or: variadic(1, (args) => args.find(isTrue) ?? args.at(-1)),
  not: fixed(1, ([arg]) => !isTrue(arg)),
  eq: variadic(1, ([first, ...others]) => {
    if (others.length === 0) throw new TemplateFunctionError("missing argument for comparison");
    return others.some((other) => equals(first, other));
  }),
  ne: fixed(2, ([left, right]) => !equals(left, right)),
  lt: fixed(2, ([left, right]) => isLess(left, right)),
  le: fixed(2, ([left, right]) => isLess(left, right) || equals(left, right)),
  gt: fixed(2, ([left, right]) => !isLess(left, right) && !equals(left, right)),
  ge: fixed(2, ([left, right]) => !isLess(left, right)),
  len: fixed(1, ([arg]) => {
    const length = lengthOf(arg);
    if (length < 0)
      throw new TemplateFunctionError(
        `len of ${kindOf(arg) === "nil" || kindOf(arg) === "invalid" ? "nil pointer" : `type ${typeName(arg)}`}`,
      );
    return length;
  }),
  index: variadic(1, ([item, ...keys]) => keys.reduce(indexOne, item)),
  slice: variadic(1, ([item, ...bounds]) => slice(item, bounds), 4),
  print: variadic(0, (args, meter) => sized(args, meter, () => sprint(args))),
  println: variadic(0, (args, meter) => sized(args, meter, () => `${args.map((arg) => formatValue(arg)).join(" ")}\n`)),
  printf: variadic(1, (args, meter) => {
    const format = textArg(args, 0);
    return sized(args, meter, () => sprintf(format, args.slice(1)));
  }),
  html: variadic(0, (args, meter) => sized(args, meter, () => escapeHtml(asText(args)))),
  js: variadic(0, (args, meter) => sized(args, meter, () => escapeJs(asText(args)))),
  urlquery: variadic(0, (args, meter) => sized(args, meter, () => escapeQuery(asText(args)))),
};

/** Asks for the space before the text is built. */
function sized(args: readonly unknown[], meter: Meter, build: () => string): string {
  let size = 0;
  for (const arg of args) size += printedSize(arg, 1 << 26);
  meter.spendText(size);
  return build();
}

function asText(args: readonly unknown[]): string {
  return args.length === 1 && typeof args[0] === "string" ? args[0] : sprint(args);
}

function indexOne(item: unknown, key: unknown): unknown {
  const kind = kindOf(item);
  if (kind === "invalid" || kind === "nil") throw new TemplateFunctionError("index of untyped nil");
  if (isMap(item)) {
    if (!(item instanceof Map) && typeof key !== "string") {
      throw new TemplateFunctionError(`value has type ${typeName(key)}; should be string`);
    }
    return mapGet(item, key);
  }
  if (kind !== "list" && kind !== "string")
    throw new TemplateFunctionError(`can't index item of type ${typeName(item)}`);
  const position = bound(key, lengthOf(item) - 1, "cannot index slice/array");
  return Array.isArray(item) ? item[position] : Buffer.from(item as string)[position];
}

function slice(item: unknown, bounds: readonly unknown[]): unknown {
  const kind = kindOf(item);
  if (kind === "invalid" || kind === "nil") throw new TemplateFunctionError("slice of untyped nil");
  if (kind !== "list" && kind !== "string")
    throw new TemplateFunctionError(`can't slice item of type ${typeName(item)}`);
  if (kind === "string" && bounds.length > 2) throw new TemplateFunctionError("cannot 3-index slice a string");
  const length = lengthOf(item);
  const [from = 0, to = length] = bounds.map((key) => bound(key, length, "cannot index slice/array"));
  if (from > to) throw new TemplateFunctionError(`invalid slice index: ${from} > ${to}`);
  return Array.isArray(item)
    ? item.slice(from, to)
    : Buffer.from(item as string)
        .subarray(from, to)
        .toString();
}

function bound(key: unknown, last: number, problem: string): number {
  if (kindOf(key) === "nil" || kindOf(key) === "invalid") throw new TemplateFunctionError(`${problem} with nil`);
  if (kindOf(key) !== "int") throw new TemplateFunctionError(`${problem} with type ${typeName(key)}`);
  const position = toNumber(key);
  if (position < 0 || position > last) throw new TemplateFunctionError(`index out of range: ${position}`);
  return position;
}

const HTML: Readonly<Record<string, string>> = {
  "\0": "\ufffd",
  '"': "&#34;",
  "'": "&#39;",
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[\0"'&<>]/g, (char) => HTML[char] ?? char);
}

const JS: Readonly<Record<string, string>> = { "\\": "\\\\", "'": "\\'", '"': '\\"' };

function escapeJs(text: string): string {
  return text.replaceAll(/[\\'"<>&=\x00-\x1f\x7f]|[^\x00-\x7f]/gu, (char) => {
    const known = JS[char];
    if (known !== undefined) return known;
    if (/^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char) && !"<>&=".includes(char)) return char;
    return `\\u${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  });
}

function escapeQuery(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      if (/[A-Za-z0-9\-_.~]/.test(char)) return char;
      return char === " " ? "+" : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");
}
