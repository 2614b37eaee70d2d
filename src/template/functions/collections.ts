import { equals } from "../compare.ts";
import { formatValue } from "../format-value.ts";
import type { FunctionTable } from "../function-table.ts";
import { fixed, intArg, textArg, variadic, wrongType } from "../function-table.ts";
import type { Meter } from "../limits.ts";
import { TemplateFunctionError } from "../template-error.ts";
import { isMap, isTrue, kindOf, makeMap, mapEntries, mapGet, mapHas } from "../values.ts";

/** Sprig's lists and dictionaries. */
export const COLLECTION_FUNCTIONS: FunctionTable = {
  list: variadic(0, (args) => [...args]),
  tuple: variadic(0, (args) => [...args]),
  first: fixed(1, (args) => listArg(args, 0)[0]),
  last: fixed(1, (args) => listArg(args, 0).at(-1)),
  rest: fixed(1, (args, meter) => charged(meter, listArg(args, 0).slice(1))),
  initial: fixed(1, (args, meter) => charged(meter, listArg(args, 0).slice(0, -1))),
  reverse: fixed(1, (args, meter) => charged(meter, listArg(args, 0).toReversed())),
  append: fixed(2, (args, meter) => charged(meter, [...listArg(args, 0), args[1]])),
  prepend: fixed(2, (args, meter) => charged(meter, [args[1], ...listArg(args, 0)])),
  concat: variadic(0, (args, meter) =>
    charged(
      meter,
      args.flatMap((_, index) => listArg(args, index)),
    ),
  ),
  compact: fixed(1, (args, meter) => charged(meter, listArg(args, 0).filter(isTrue))),
  uniq: fixed(1, (args, meter) => {
    const items = listArg(args, 0);
    meter.spend(items.length * items.length);
    return items.filter((item, index) => items.findIndex((other) => same(item, other)) === index);
  }),
  has: fixed(2, (args, meter) => charged(meter, listArg(args, 1)).some((item) => same(item, args[0]))),
  without: variadic(1, (args, meter) => {
    const dropped = args.slice(1);
    return charged(meter, listArg(args, 0)).filter((item) => !dropped.some((other) => same(item, other)));
  }),
  join: fixed(2, (args, meter) => {
    const items = kindOf(args[1]) === "list" ? listArg(args, 1) : [args[1]];
    const texts = items.filter((item) => item !== null && item !== undefined).map((item) => formatValue(item));
    meter.spendText(texts.reduce((sum, text) => sum + text.length + textArg(args, 0).length, 0));
    return texts.join(textArg(args, 0));
  }),
  sortAlpha: fixed(1, (args, meter) =>
    charged(meter, listArg(args, 0))
      .map((item) => formatValue(item))
      .sort(),
  ),
  until: fixed(1, (args, meter) => sequence(0, intArg(args, 0), intArg(args, 0) < 0 ? -1 : 1, meter)),
  untilStep: fixed(3, (args, meter) => sequence(intArg(args, 0), intArg(args, 1), intArg(args, 2), meter)),
  dict: variadic(0, (args) => makeDict(args)),
  get: fixed(2, (args) => mapGet(mapArg(args, 0), textArg(args, 1)) ?? ""),
  hasKey: fixed(2, (args) => mapHas(mapArg(args, 0), textArg(args, 1))),
  keys: variadic(0, (args, meter) =>
    charged(
      meter,
      args.flatMap((_, index) => mapEntries(mapArg(args, index)).map(([key]) => key)),
    ),
  ),
  values: fixed(1, (args, meter) =>
    charged(
      meter,
      mapEntries(mapArg(args, 0)).map(([, value]) => value),
    ),
  ),
  pick: variadic(1, (args, meter) => filtered(args, meter, true)),
  omit: variadic(1, (args, meter) => filtered(args, meter, false)),
  merge: variadic(1, (args, meter) => {
    // The first map that has a key wins; unlike Sprig's, the arguments stay as they are.
    const entries = args.toReversed().flatMap((_, index) => [...mapEntries(mapArg(args, args.length - 1 - index))]);
    return makeMap(charged(meter, entries) as readonly (readonly [string, unknown])[]);
  }),
};

function listArg(args: readonly unknown[], index: number): readonly unknown[] {
  const value = args[index];
  if (Array.isArray(value)) return value;
  if (value === undefined || value === null) return [];
  throw wrongType("list", value);
}

function mapArg(args: readonly unknown[], index: number): unknown {
  const value = args[index];
  if (!isMap(value)) throw wrongType("map[string]interface {}", value);
  return value;
}

function charged<Items extends readonly unknown[]>(meter: Meter, items: Items): Items {
  meter.spend(items.length);
  return items;
}

function same(left: unknown, right: unknown): boolean {
  const [a, b] = [kindOf(left), kindOf(right)];
  return a === b && a !== "list" && a !== "map" && equals(left, right);
}

function sequence(start: number, end: number, step: number, meter: Meter): readonly number[] {
  if (step === 0) throw new TemplateFunctionError("step must not be zero");
  const count = Math.max(0, Math.ceil((end - start) / step));
  meter.spend(count);
  return Array.from({ length: count }, (_, index) => start + index * step);
}

function makeDict(args: readonly unknown[]): unknown {
  const entries: (readonly [string, unknown])[] = [];
  for (let index = 0; index < args.length; index += 2) entries.push([formatValue(args[index]), args[index + 1] ?? ""]);
  return makeMap(entries);
}

function filtered(args: readonly unknown[], meter: Meter, keep: boolean): unknown {
  const names = new Set(args.slice(1).map((_, index) => textArg(args, index + 1)));
  const entries = charged(meter, mapEntries(mapArg(args, 0))) as readonly (readonly [string, unknown])[];
  return makeMap(entries.filter(([key]) => names.has(key) === keep));
}
