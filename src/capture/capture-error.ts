import { CodedError } from "../base/coded-error.ts";

/** Everything that makes the command end with exit code 1; the message is the whole story for the user. */
export class CaptureError extends CodedError<
  | "invalid-settings"
  | "no-backend"
  | "busy"
  | "drifted"
  | "restore-failed"
  | "rollback-failed"
  | "clean-failed"
  | "routes-failed"
  | "namespace-failed"
  | "unreadable-file"
> {}
