import { CodedError } from "../base/coded-error.ts";

export class SdsError extends CodedError<
  | "bad-socket-name"
  /** An external server is required and there is none. */
  | "no-external-server"
  /** A dead socket file cannot be removed. */
  | "socket-in-the-way"
  /** Kubernetes secrets are asked for outside of a cluster. */
  | "not-in-cluster"
  | "bind-failed"
  | "stopped"
> {}
