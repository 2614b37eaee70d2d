import type { FunctionTable } from "../function-table.ts";
import { fixed, textArg, variadic, wrongType } from "../function-table.ts";
import { TemplateFunctionError } from "../template-error.ts";
import { isTrue, kindOf, toNumber, typeName } from "../values.ts";

/** Sprig's defaults, choices and arithmetic. Integer functions round toward zero and accept numeric text. */
export const LOGIC_FUNCTIONS: FunctionTable = {
  default: variadic(1, (args) => (args.length > 1 && isTrue(args[1]) ? args[1] : args[0]), 2),
  empty: fixed(1, ([arg]) => !isTrue(arg)),
  coalesce: variadic(0, (args) => args.find(isTrue)),
  ternary: fixed(3, ([yes, no, condition]) => (condition === true ? yes : no)),
  fail: fixed(1, (args) => {
    throw new TemplateFunctionError(textArg(args, 0));
  }),
  kindOf: fixed(1, ([arg]) => KIND_NAMES[kindOf(arg)] ?? kindOf(arg)),
  kindIs: fixed(2, ([kind, arg]) => (KIND_NAMES[kindOf(arg)] ?? kindOf(arg)) === kind),
  typeOf: fixed(1, ([arg]) => typeName(arg)),
  int: fixed(1, ([arg]) => Math.trunc(number(arg))),
  int64: fixed(1, ([arg]) => Math.trunc(number(arg))),
  float64: fixed(1, ([arg]) => number(arg)),
  atoi: fixed(1, (args) => Math.trunc(number(textArg(args, 0)))),
  add: variadic(0, (args) => args.reduce<number>((sum, arg) => sum + integer(arg), 0)),
  add1: fixed(1, ([arg]) => integer(arg) + 1),
  sub: fixed(2, ([left, right]) => integer(left) - integer(right)),
  mul: variadic(1, (args) => args.reduce<number>((product, arg) => product * integer(arg), 1)),
  div: fixed(2, ([left, right]) => Math.trunc(integer(left) / divisor(right))),
  mod: fixed(2, ([left, right]) => integer(left) % divisor(right)),
  max: variadic(1, (args) => Math.max(...args.map(integer))),
  min: variadic(1, (args) => Math.min(...args.map(integer))),
  floor: fixed(1, ([arg]) => Math.floor(number(arg))),
  ceil: fixed(1, ([arg]) => Math.ceil(number(arg))),
};

const KIND_NAMES: Readonly<Record<string, string>> = {
  float: "float64",
  list: "slice",
  invalid: "invalid",
  nil: "invalid",
};

/** Numeric text counts as its number, other text as 0, as Sprig casts. */
function number(value: unknown): number {
  switch (kindOf(value)) {
    case "int":
    case "float":
      return toNumber(value);
    case "bool":
      return value === true ? 1 : 0;
    case "nil":
    case "invalid":
      return 0;
    case "string": {
      const parsed = (value as string).trim() === "" ? 0 : Number(value);
      return Number.isFinite(parsed) ? parsed : 0;
    }
    default:
      throw wrongType("number", value);
  }
}

function integer(value: unknown): number {
  return Math.trunc(number(value));
}

function divisor(value: unknown): number {
  const parsed = integer(value);
  if (parsed === 0) throw new TemplateFunctionError("integer divide by zero");
  return parsed;
}
