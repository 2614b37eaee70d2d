import type { Meter } from "./limits.ts";
import { TemplateArgumentError } from "./template-error.ts";
import { kindOf, toNumber, typeName } from "./values.ts";

/** A function a template may call. It throws `TemplateFunctionError` (see template-error.ts) for what it cannot do. */
export interface TemplateFunction {
  readonly minArgs: number;
  /** Infinity for a variadic function. */
  readonly maxArgs: number;
  call(args: readonly unknown[], meter: Meter): unknown;
}

export type FunctionTable = Readonly<Record<string, TemplateFunction>>;

/** Exactly `count` arguments. */
export function fixed(count: number, call: TemplateFunction["call"]): TemplateFunction {
  return { minArgs: count, maxArgs: count, call };
}

/** `min` arguments or more, up to `max`. */
export function variadic(
  min: number,
  call: TemplateFunction["call"],
  max: number = Number.POSITIVE_INFINITY,
): TemplateFunction {
  return { minArgs: min, maxArgs: max, call };
}

/** The argument as text; numbers and the like are a mistake, as in Go. */
export function textArg(args: readonly unknown[], index: number): string {
  const value = args[index];
  if (typeof value === "string") return value;
  throw wrongType("string", value);
}

export function intArg(args: readonly unknown[], index: number): number {
  const value = args[index];
  if (kindOf(value) !== "int") throw wrongType("int", value);
  return toNumber(value);
}

export function wrongType(expected: string, value: unknown): TemplateArgumentError {
  return new TemplateArgumentError(`wrong type for value; expected ${expected}; got ${typeName(value)}`);
}
