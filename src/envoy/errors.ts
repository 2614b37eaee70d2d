import { CodedError } from "../base/coded-error.ts";
import type { ExitKind } from "./core/exit-text.ts";

/** Exit codes of the agent when Envoy's restart budget is used up; documented in docs/envoy-life.md. */
export const ENVOY_EXIT_CODES = { crashed: 80, killed: 81, "cannot-execute": 82 } as const;

export type EnvoyFailureKind = Exclude<ExitKind, "clean">;

/** Envoy ended for good. `exitCode` is what the agent's process should end with. */
export class EnvoyError extends CodedError<EnvoyFailureKind> {
  readonly exitCode: number;

  constructor(kind: EnvoyFailureKind, message: string, exitCode: number = ENVOY_EXIT_CODES[kind]) {
    super(kind, message);
    this.exitCode = exitCode;
  }
}

export class AdminError extends CodedError<
  "unreachable" | "timeout" | "too-large" | "unexpected-status" | "bad-answer"
> {}
