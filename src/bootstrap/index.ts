import type { DiscoverBootstrapOptions } from "./discover-bootstrap.ts";
import type { BootstrapFile } from "./write-bootstrap.ts";

export { bootstrapOfNode } from "./core/bootstrap-of-node.ts";
export { BOOTSTRAP_RULES, type BootstrapRules } from "./core/generations.ts";
export { pilotSubjectAltNames } from "./core/pilot-san.ts";
export type { BootstrapInputs } from "./inputs.ts";
export { type BootstrapFile, readBootstrapOverride, writeBootstrap, writeGrpcBootstrap } from "./write-bootstrap.ts";

/** Loaded with the first use: few agents ask the control plane for their bootstrap. */
export async function discoverBootstrap(generated: BootstrapFile, options: DiscoverBootstrapOptions) {
  return (await import("./discover-bootstrap.ts")).discoverBootstrap(generated, options);
}
