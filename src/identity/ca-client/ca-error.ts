import { CodedError } from "../../base/coded-error.ts";

export type CaErrorCode =
  /** No connection, or lost: worth trying again later. */
  | "unreachable"
  /** The CA's own certificate does not chain to the root we were given, or is for another name. */
  | "untrusted"
  /** The CA did not answer within the per-attempt timeout. */
  | "timeout"
  /** The CA refused who we are: token or client certificate. */
  | "unauthenticated"
  /** The CA answered with another error status. */
  | "rejected"
  /** The answer holds no usable certificate chain. */
  | "bad-answer"
  /** The leaf is for another key than the CSR's. */
  | "wrong-key"
  /** The leaf lacks the identity that was asked for. */
  | "wrong-san"
  | "expired"
  | "not-yet-valid"
  /** The roots, token or client certificate on our side cannot be used. */
  | "bad-config"
  | "cancelled";

/** A certificate could not be had. The message names the CA and the cause, never a key or a token. */
export class CaError extends CodedError<CaErrorCode> {}
