export type { BootstrapErrorCode } from "./bootstrap-error.ts";
export { BootstrapError } from "./bootstrap-error.ts";
export type { BootstrapRenderer, GeneratedBootstrap } from "./core/generate-bootstrap.ts";
export { generateBootstrap } from "./core/generate-bootstrap.ts";
export type { Generation, GenerationName } from "./core/generations.ts";
export { GENERATIONS } from "./core/generations.ts";
export { buildGrpcBootstrap } from "./core/grpc-bootstrap.ts";
export type { NodeDescriptor } from "./core/node-descriptor.ts";
export { buildNodeDescriptor, buildNodeId } from "./core/node-descriptor.ts";
export { pilotSubjectAltNames } from "./core/pilot-san.ts";
export type { BootstrapDiscovery, BootstrapResource, DynamicBootstrapOptions } from "./dynamic-bootstrap.ts";
export { BOOTSTRAP_TYPE_URL, bootstrapBytes, updateDynamicBootstrap } from "./dynamic-bootstrap.ts";
export type { AgentFacts, BootstrapFeatures, BootstrapInputs, Locality, PlatformFacts } from "./inputs.ts";
export type { BootstrapFile, WriteOptions } from "./write-bootstrap.ts";
export {
  readBootstrapOverride,
  writeBootstrap,
  writeGeneratedBootstrap,
  writeGrpcBootstrap,
} from "./write-bootstrap.ts";
