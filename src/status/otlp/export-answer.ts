import { CodedError } from "../../base/coded-error.ts";
import { int64, message, nested, string } from "../../protobuf/wire/message.ts";

/**
 * An export that the collector did not take. `retryable`: it may take the next one soon; `permanent`: it will not, until something is
 * changed there or here; `partial`: it took the rest, and does not want the same again.
 */
export class OtlpError extends CodedError<"retryable" | "permanent" | "partial"> {
  /** How long the collector asks to wait, if it does. */
  readonly retryAfterMs: number | undefined;

  constructor(code: OtlpError["code"], text: string, options: ErrorOptions & { readonly retryAfterMs?: number } = {}) {
    super(code, text, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

const PARTIAL = message({ rejectedDataPoints: int64(1), errorMessage: string(2) });
const RESPONSE = message({ partialSuccess: nested(1, PARTIAL) });

/** The body of an answer that says OK: it may still have refused some points. */
export function checkPartialSuccess(bytes: Buffer): void {
  const { rejectedDataPoints = 0n, errorMessage: why = "" } = partialSuccessOf(bytes);
  if (rejectedDataPoints > 0n) throw new OtlpError("partial", `the collector took only a part: ${why}`);
}

/** Some collectors answer with JSON or nothing at all. */
function partialSuccessOf(bytes: Buffer) {
  try {
    return RESPONSE.decode(bytes).partialSuccess ?? {};
  } catch {
    return {};
  }
}
