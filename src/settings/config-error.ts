import { CodedError } from "../base/coded-error.ts";
import type { ConfigProblem } from "../istio-api/config-problem.ts";

export type ConfigErrorCode =
  | "unknown-generation"
  | "invalid-proxy-type"
  | "invalid-proxy-config"
  | "invalid-security-options"
  | "invalid-status-options"
  | "invalid-console-address";

/** The configuration cannot be used. `message` is the line the operator knows; `problems` lists everything found, with its sources. */
export class ConfigError extends CodedError<ConfigErrorCode> {
  readonly problems: readonly ConfigProblem[];

  constructor(code: ConfigErrorCode, message: string, problems: readonly ConfigProblem[], options?: ErrorOptions) {
    super(code, message, options);
    this.problems = Object.freeze([...problems]);
  }
}

/** Several steps failed: the first gives code and message, the others follow on lines of their own. */
export function joinConfigErrors(errors: readonly ConfigError[]): ConfigError | undefined {
  const [first, ...others] = errors;
  if (first === undefined || others.length === 0) return first;
  const message = [first.message.trimEnd(), ...others.map((other) => `also: ${other.message.trimEnd()}`)].join("\n");
  const problems = errors.flatMap((error) => error.problems);
  return new ConfigError(first.code, message, problems, { cause: new AggregateError(errors, message) });
}

/** One problem on one line, for logs and for `doctor`. */
export function describeProblem(problem: ConfigProblem): string {
  const field = problem.field === undefined ? "" : `, field ${problem.field}`;
  const value = problem.value === undefined ? "" : ` (value ${JSON.stringify(problem.value)})`;
  const allowed = problem.allowed === undefined ? "" : `; allowed: ${problem.allowed}`;
  return `${problem.source}${field}: ${problem.message}${value}${allowed}`;
}
