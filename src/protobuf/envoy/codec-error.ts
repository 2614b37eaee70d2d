import { CodedError } from "../../base/coded-error.ts";

/** A value that does not fit Envoy's API; the message names the member. */
export class EnvoyCodecError extends CodedError<"unknown-message" | "unknown-member" | "bad-value"> {}
