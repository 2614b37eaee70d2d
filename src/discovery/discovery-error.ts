import { CodedError } from "../base/coded-error.ts";

/** The control plane cannot start as it was told to. */
export class DiscoveryError extends CodedError<
  "address-in-use" | "cannot-listen" | "invalid-mesh-config" | "invalid-files"
> {}
