import { BUILTINS } from "./builtins.ts";
import { evaluate } from "./evaluate.ts";
import type { FunctionTable } from "./function-table.ts";
import type { TemplateLimits } from "./limits.ts";
import { DEFAULT_LIMITS } from "./limits.ts";
import { parse } from "./parser.ts";

export interface TemplateOptions {
  /** Added to Go's own functions; a name given here wins. */
  readonly functions?: FunctionTable;
  readonly limits?: Partial<TemplateLimits>;
}

/** Parsed once, executed as often as wanted. */
export interface Template {
  readonly name: string;
  /** Throws `TemplateError`. Data is never changed. */
  execute(data: unknown): string;
}

/** Throws `TemplateError` with code `parse` (or `too-deep`) for text that is not a template. */
export function parseTemplate(name: string, text: string, options: TemplateOptions = {}): Template {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  // A map, because a plain object would also know `constructor`.
  const functions = new Map(Object.entries({ ...BUILTINS, ...options.functions }));
  const bodies = parse(name, text, (candidate) => functions.has(candidate), limits.maxDepth);
  const program = { name, source: text, bodies, functions };
  return { name, execute: (data) => evaluate(program, data, limits) };
}
