import { backoffDelayMs } from "../../base/backoff.ts";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { wait } from "../../base/wait.ts";
import { unwrapModule } from "../unpack/unwrap-module.ts";
import { WasmError } from "../wasm-error.ts";
import type { HttpClient } from "./http-client.ts";

export interface FetchHttpOptions {
  readonly client: HttpClient;
  readonly url: URL;
  /** In all; there is always a first one. */
  readonly attempts: number;
  readonly maxBytes: number;
  /** Ends the attempts and the pauses between them. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

const BACKOFF = { initialMs: 500, factor: 1.5, jitter: 0.5, maxMs: 60_000 };
/** Server errors that a second request will not change. */
const FINAL_STATUSES = new Set([501, 505, 511]);

/** The module behind an http or https address, unpacked. */
export async function fetchHttpModule(options: FetchHttpOptions): Promise<Buffer> {
  const { client, url, maxBytes, signal } = options;
  const attempts = Math.max(1, options.attempts);
  for (let attempt = 1; ; attempt += 1) {
    const result = await client({ url, maxBytes, signal }).catch((cause: unknown) => asFailure(cause, signal));
    if (!("error" in result) && result.status === 200) return unwrapModule(result.bytes, maxBytes);
    const { error, retry } = "error" in result ? result : statusFailure(result.status);
    options.log.debug(`wasm module download request failed: ${errorMessage(error)}`, { attempt });
    if (retry && attempt < attempts) await wait(backoffDelayMs(BACKOFF, attempt), signal);
    if (retry && attempt < attempts && !signal.aborted) continue;
    const text = `wasm module download failed after ${attempt} attempts, last error: ${errorMessage(error)}`;
    throw new WasmError(error instanceof WasmError ? error.code : "unreachable", text, { cause: error });
  }
}

interface Failure {
  readonly error: unknown;
  readonly retry: boolean;
}

/** An address that is forbidden or an answer that is too large stays so. */
function asFailure(error: unknown, signal: AbortSignal): Failure {
  const passing = error instanceof WasmError && (error.code === "unreachable" || error.code === "timeout");
  return { error, retry: passing && !signal.aborted };
}

function statusFailure(status: number): Failure {
  const error = new WasmError("unreachable", `wasm module download request failed: status code ${status}`);
  return { error, retry: status >= 500 && !FINAL_STATUSES.has(status) };
}
