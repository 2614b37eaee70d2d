import { CodedError } from "../base/coded-error.ts";

export type SecretErrorCode =
  /** The name is none the agent serves. */
  | "unknown-name"
  /** No CA could issue a certificate. */
  | "not-issued"
  /** A file is missing, unreadable or does not hold what its name promises. */
  | "bad-file"
  /** The manager was stopped, or the caller went away. */
  | "cancelled";

/** A secret could not be produced. The message is meant for the peer and for logs: it never holds key or token bytes. */
export class SecretError extends CodedError<SecretErrorCode> {}
