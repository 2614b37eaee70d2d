import { CodedError } from "../../base/coded-error.ts";
import type { Secret } from "../../base/secret.ts";

export class TokenError extends CodedError<"unknown-fetcher" | "bad-options" | "unavailable" | "empty"> {}

/** Gives the token that proves who this workload is. */
export interface TokenFetcher {
  /** Name for token exchanges; "" when there is none. */
  readonly identityProvider: string;
  /** Asked for every call. Undefined: there is no token now, and the call goes out without one. */
  fetch(signal?: AbortSignal): Promise<Secret | undefined>;
  /** Idempotent; ends background refreshing. */
  stop(): Promise<void>;
}
