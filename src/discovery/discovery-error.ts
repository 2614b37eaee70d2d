import { CodedError } from "../base/coded-error.ts";

/** The control plane cannot start with these options. */
export class DiscoveryError extends CodedError<
  "address-in-use" | "cannot-listen" | "invalid-mesh-config" | "invalid-files"
> {}
