import { CodedError } from "../base/coded-error.ts";

/**
 * Why a module cannot be used. `invalid-config` is the control plane's mistake and refuses the whole response; the others fail one
 * resource, which its fallback then stands in for.
 */
export class WasmError extends CodedError<
  | "invalid-config"
  | "missing-hint"
  | "bad-secret"
  | "unsupported"
  | "blocked"
  | "unreachable"
  | "too-large"
  | "manifest"
  | "checksum-mismatch"
  | "invalid-module"
  | "timeout"
> {}
