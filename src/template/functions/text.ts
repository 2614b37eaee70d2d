import { quoteGo } from "../../base/go-quote.ts";
import { formatValue } from "../format-value.ts";
import type { FunctionTable } from "../function-table.ts";
import { fixed, intArg, textArg, variadic } from "../function-table.ts";
import { TemplateFunctionError } from "../template-error.ts";
import { kindOf, makeMap } from "../values.ts";

/** Sprig's text functions; the text to work on is the last argument, so that it can be piped in. */
export const TEXT_FUNCTIONS: FunctionTable = {
  upper: fixed(1, (args) => textArg(args, 0).toUpperCase()),
  lower: fixed(1, (args) => textArg(args, 0).toLowerCase()),
  title: fixed(1, (args) => textArg(args, 0).replaceAll(/(?<![\p{L}\p{Nd}_'])\p{L}/gu, (char) => char.toUpperCase())),
  untitle: fixed(1, (args) => textArg(args, 0).replaceAll(/(?<![\p{L}\p{Nd}_'])\p{L}/gu, (char) => char.toLowerCase())),
  trim: fixed(1, (args) => textArg(args, 0).trim()),
  trimAll: fixed(2, (args) => trimChars(textArg(args, 0), textArg(args, 1))),
  trimPrefix: fixed(2, (args) => {
    const [prefix, text] = [textArg(args, 0), textArg(args, 1)];
    return text.startsWith(prefix) ? text.slice(prefix.length) : text;
  }),
  trimSuffix: fixed(2, (args) => {
    const [suffix, text] = [textArg(args, 0), textArg(args, 1)];
    return suffix !== "" && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text;
  }),
  nospace: fixed(1, (args) => textArg(args, 0).replaceAll(/\s+/gu, "")),
  trunc: fixed(2, (args) => {
    const [count, text] = [intArg(args, 0), textArg(args, 1)];
    return count < 0 ? (text.length + count > 0 ? text.slice(count) : text) : text.slice(0, count);
  }),
  substr: fixed(3, (args) => {
    const [start, end, text] = [intArg(args, 0), intArg(args, 1), textArg(args, 2)];
    return text.slice(Math.max(start, 0), end < 0 || end > text.length ? undefined : end);
  }),
  replace: fixed(3, (args, meter) => {
    const [old, replacement, text] = [textArg(args, 0), textArg(args, 1), textArg(args, 2)];
    const pieces = text.split(old);
    meter.spendText(text.length + pieces.length * replacement.length);
    return pieces.join(replacement);
  }),
  contains: fixed(2, (args) => textArg(args, 1).includes(textArg(args, 0))),
  hasPrefix: fixed(2, (args) => textArg(args, 1).startsWith(textArg(args, 0))),
  hasSuffix: fixed(2, (args) => textArg(args, 1).endsWith(textArg(args, 0))),
  split: fixed(2, (args) => {
    const parts = textArg(args, 1).split(textArg(args, 0));
    return makeMap(parts.map((part, index) => [`_${index}`, part]));
  }),
  splitList: fixed(2, (args, meter) => {
    meter.spend(textArg(args, 1).length);
    return textArg(args, 1).split(textArg(args, 0));
  }),
  repeat: fixed(2, (args, meter) => {
    const [count, text] = [intArg(args, 0), textArg(args, 1)];
    if (count < 0) throw new TemplateFunctionError("strings: negative Repeat count");
    meter.spendText(count * text.length);
    return text.repeat(count);
  }),
  quote: variadic(0, (args) =>
    present(args)
      .map((arg) => quoteGo(formatValue(arg)))
      .join(" "),
  ),
  squote: variadic(0, (args) =>
    present(args)
      .map((arg) => `'${formatValue(arg)}'`)
      .join(" "),
  ),
  cat: variadic(0, (args) =>
    present(args)
      .map((arg) => formatValue(arg))
      .join(" "),
  ),
  indent: fixed(2, (args, meter) => indent(intArg(args, 0), textArg(args, 1), meter.spendText.bind(meter))),
  nindent: fixed(2, (args, meter) => `\n${indent(intArg(args, 0), textArg(args, 1), meter.spendText.bind(meter))}`),
  toString: fixed(1, ([arg]) => formatValue(arg)),
};

function present(args: readonly unknown[]): readonly unknown[] {
  return args.filter((arg) => kindOf(arg) !== "nil" && kindOf(arg) !== "invalid");
}

function trimChars(characters: string, text: string): string {
  const cut = new Set(characters);
  const letters = [...text];
  let [start, end] = [0, letters.length];
  while (start < end && cut.has(letters[start] ?? "")) start += 1;
  while (end > start && cut.has(letters[end - 1] ?? "")) end -= 1;
  return letters.slice(start, end).join("");
}

function indent(spaces: number, text: string, reserve: (length: number) => void): string {
  const lines = text.split("\n");
  if (spaces < 0) throw new TemplateFunctionError("strings: negative Repeat count");
  reserve(text.length + lines.length * spaces);
  const margin = " ".repeat(spaces);
  return lines.map((line) => margin + line).join("\n");
}
