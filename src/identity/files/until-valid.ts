import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";
import { errorMessage } from "../../base/coded-error.ts";
import { wait } from "../../base/wait.ts";
import { SecretError } from "../secret-error.ts";

export interface UntilValidOptions {
  readonly firstRetryMs: number;
  /** All tries together. */
  readonly limitMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Tries until it works: whoever replaces files needs a moment between the first and the last of them. */
export async function untilValid<Value>(read: () => Promise<Value>, options: UntilValidOptions): Promise<Value> {
  const backoff: BackoffOptions = { initialMs: options.firstRetryMs, maxMs: 60_000, factor: 1.5, jitter: 0.5 };
  const endMs = performance.now() + options.limitMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (cause) {
      const leftMs = endMs - performance.now();
      if (options.signal?.aborted) throw new SecretError("cancelled", "the wait for the file was cancelled", { cause });
      if (leftMs <= 0) {
        const text = `context deadline exceeded with last error: ${errorMessage(cause)}`;
        throw new SecretError("bad-file", text, { cause });
      }
      await wait(Math.min(leftMs, backoffDelayMs(backoff, attempt)), options.signal);
    }
  }
}
