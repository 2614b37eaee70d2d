/** The library's door: agent, control plane and mesh inside another Node process. */
export { type Agent, AgentStartError, type StartAgentOptions, startAgent } from "./agent/index.ts";
export { type BuildStamp, buildStamp } from "./base/build-stamp.ts";
export type { Handle } from "./base/handle.ts";
export { createLog, type Log, type LogSettings } from "./base/log/log.ts";
export type { Logger } from "./base/logger.ts";
export {
  type Discovery,
  DiscoveryError,
  type StartDiscoveryOptions,
  startDiscovery,
} from "./discovery/index.ts";
export {
  createGrpcMetrics,
  type GrpcLibrary,
  type GrpcMetrics,
  type GrpcMetricsOptions,
} from "./grpc-metrics/index.ts";
export {
  type Mesh,
  MeshError,
  type MeshFile,
  parseMeshFile,
  type StartMeshOptions,
  startMesh,
  stateFolder,
  stopMesh,
} from "./mesh/index.ts";
export { ConfigError } from "./settings/config-error.ts";
export type { DiscoveryPorts } from "./settings/discovery-settings.ts";
export { chooseGeneration } from "./settings/generations.ts";
export { defaultProxyFlags, type ProxyFlags } from "./settings/proxy-flags.ts";
export { type AgentConfig, type AgentConfigSources, readAgentConfig } from "./settings/read-agent-config.ts";
