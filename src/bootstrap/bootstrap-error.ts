import { CodedError } from "../base/coded-error.ts";

export type BootstrapErrorCode =
  | "invalid-metadata"
  | "invalid-address"
  | "missing-gcp-project"
  | "unreadable-template"
  | "invalid-template"
  | "unexpected-resources"
  | "write-failed";

/** A bootstrap that cannot be made; the message names the variable, field or file that is wrong. */
export class BootstrapError extends CodedError<BootstrapErrorCode> {}
