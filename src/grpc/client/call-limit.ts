import { setMaxListeners } from "node:events";
import { errorMessage } from "../../base/coded-error.ts";
import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import { GrpcError } from "../status.ts";
import type { CallOptions } from "./client-types.ts";

/** Deadline and cancellation of one call, from before its connection exists until its end. */
export class CallLimit {
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #expiresAt: number | undefined;
  #failure: GrpcError | undefined;
  #listener: ((failure: GrpcError) => void) | undefined;

  constructor({ signal, timeoutMs }: Pick<CallOptions, "signal" | "timeoutMs">) {
    this.#signal = signal;
    // Many calls may share one signal; node would warn of a leak from the eleventh on.
    if (signal !== undefined) setMaxListeners(0, signal);
    if (signal?.aborted) this.#failure = cancelled(signal);
    else signal?.addEventListener("abort", this.#onAbort);
    if (timeoutMs === undefined) return;
    this.#expiresAt = performance.now() + timeoutMs;
    if (timeoutMs <= MAX_TIMER_MS) this.#timer = setTimeout(() => this.#fire(expired()), Math.max(0, timeoutMs));
  }

  get remainingMs(): number | undefined {
    return this.#expiresAt === undefined ? undefined : this.#expiresAt - performance.now();
  }

  /** One listener at a time; called at once when the limit is already reached. */
  onReached(listener: (failure: GrpcError) => void): void {
    this.#listener = listener;
    if (this.#failure !== undefined) listener(this.#failure);
  }

  /** Rejects when the limit is reached before the work is done; the work itself goes on. */
  race<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.onReached(reject);
      work.then(resolve, reject);
    });
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#listener = undefined;
  }

  readonly #onAbort = () => this.#fire(cancelled(this.#signal));

  #fire(failure: GrpcError): void {
    this.#failure ??= failure;
    this.#listener?.(this.#failure);
  }
}

function expired(): GrpcError {
  return new GrpcError("DEADLINE_EXCEEDED", "context deadline exceeded");
}

function cancelled(signal: AbortSignal | undefined): GrpcError {
  const reason: unknown = signal?.reason;
  if (reason instanceof GrpcError) return reason;
  return new GrpcError("CANCELLED", `the call was cancelled: ${errorMessage(reason)}`, { cause: reason });
}
