import { CodedError } from "../base/coded-error.ts";

/** What a user of `mesh` can do something about; the message says what. */
export class MeshError extends CodedError<
  | "invalid-file"
  | "already-running"
  | "not-running"
  | "unknown-part"
  | "address-taken"
  | "command-not-found"
  | "isolation"
  | "state"
  | "start"
> {}
