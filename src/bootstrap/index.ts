export { BOOTSTRAP_RULES, type BootstrapRules } from "./core/generations.ts";
export type { NodeDescriptor } from "./core/node-descriptor.ts";
export { pilotSubjectAltNames } from "./core/pilot-san.ts";
export { updateDynamicBootstrap } from "./dynamic-bootstrap.ts";
export type { BootstrapInputs } from "./inputs.ts";
export { type BootstrapFile, readBootstrapOverride, writeBootstrap, writeGrpcBootstrap } from "./write-bootstrap.ts";
