/** The library's door: agent, control plane and mesh inside another Node process. */
export { type Agent, AgentStartError, type StartAgentOptions, startAgent } from "./agent/index.ts";
export { type BuildStamp, buildStamp } from "./base/build-stamp.ts";
export type { Handle } from "./base/handle.ts";
export { createLog, type Log, type LogSettings } from "./base/log/log.ts";
export type { Logger } from "./base/logger.ts";
export {
  type Discovery,
  DiscoveryError,
  type DiscoveryPorts,
  type StartDiscoveryOptions,
  startDiscovery,
} from "./discovery/index.ts";
export { ConfigError } from "./istio-api/config-error.ts";
export { chooseGeneration } from "./istio-api/generations.ts";
export { type Mesh, MeshError, type StartMeshOptions, startMesh, stopMesh } from "./mesh/index.ts";
export {
  type AgentConfig,
  type AgentConfigSources,
  defaultProxyFlags,
  type ProxyFlags,
  readAgentConfig,
} from "./settings/index.ts";
