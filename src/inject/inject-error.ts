import { CodedError } from "../base/coded-error.ts";

/** Why a workload could not be injected; the message names the value that is wrong and what is allowed. */
export class InjectError extends CodedError<
  | "invalid-annotation"
  | "invalid-document"
  | "invalid-settings"
  | "invalid-template"
  | "unknown-template"
  | "merge"
  | "missing-template"
  | "refused"
> {}
