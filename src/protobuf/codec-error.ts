import { CodedError } from "../base/coded-error.ts";

/** A value that does not fit its message; the text names the member. */
export class CodecError extends CodedError<"unknown-message" | "unknown-member" | "bad-value"> {}
