import { CodedError } from "../base/coded-error.ts";

/**
 * `parse` and `execution` are mistakes of the template's author; the others mean that a bound was reached. Messages follow Go's wording,
 * which names the line, and for execution the column too; `line` (from 1) and `column` (from 0, in bytes, as Go counts) are always set.
 */
export type TemplateErrorCode = "parse" | "execution" | "too-many-steps" | "too-deep" | "too-much-output";

export interface TemplatePosition {
  readonly template: string;
  readonly line: number;
  readonly column: number;
}

export class TemplateError extends CodedError<TemplateErrorCode> {
  readonly position: TemplatePosition;

  constructor(code: TemplateErrorCode, message: string, position: TemplatePosition, options?: ErrorOptions) {
    super(code, message, options);
    this.position = position;
  }
}

/** What a template function throws for bad arguments; the engine adds the position and the function's name. */
export class TemplateFunctionError extends Error {}

/** An argument of the wrong type. */
export class TemplateArgumentError extends TemplateFunctionError {}

/** A bound that was reached inside a function or the evaluator; the engine adds the position. */
export class TemplateLimitError extends Error {
  readonly code: Exclude<TemplateErrorCode, "parse" | "execution">;

  constructor(code: Exclude<TemplateErrorCode, "parse" | "execution">, message: string) {
    super(message);
    this.code = code;
  }
}

/** Line and column of an index into the source text. */
export function positionAt(template: string, text: string, index: number): TemplatePosition {
  const before = text.slice(0, index);
  const lineStart = before.lastIndexOf("\n") + 1;
  let line = 1;
  for (let at = before.indexOf("\n"); at !== -1; at = before.indexOf("\n", at + 1)) line += 1;
  return { template, line, column: Buffer.byteLength(before.slice(lineStart)) };
}
