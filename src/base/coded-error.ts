/**
 * An error with a stable code to branch on, a message for a human and the cause. Each folder declares its own:
 * `class CaError extends CodedError<"unreachable" | "rejected-csr"> {}`.
 */
export class CodedError<Code extends string> extends Error {
  readonly code: Code;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.name = new.target.name;
  }
}

/** The text a human should read of anything that was thrown. */
export function errorMessage(thrown: unknown): string {
  // Node tells so when none of a host's addresses could be connected to, without a word of its own.
  if (thrown instanceof AggregateError && thrown.message === "") return thrown.errors.map(errorMessage).join("; ");
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The `code` of Node's system errors (ENOENT, EADDRINUSE ...) and of our own; undefined for anything else. */
export function errorCode(thrown: unknown): string | undefined {
  if (typeof thrown !== "object" || thrown === null || !("code" in thrown)) return undefined;
  return typeof thrown.code === "string" ? thrown.code : undefined;
}
