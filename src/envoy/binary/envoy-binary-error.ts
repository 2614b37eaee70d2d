import { CodedError } from "../../base/coded-error.ts";

export class EnvoyBinaryError extends CodedError<
  "no-pip" | "download-failed" | "wrong-hash" | "unsupported-platform" | "not-found"
> {}
