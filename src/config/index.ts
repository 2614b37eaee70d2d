export { ConfigError, type ConfigErrorCode, type ConfigProblem, describeProblem } from "./config-error.ts";
export { type ConfigFiles, diskFiles, fileErrorText, readIfPresent } from "./config-files.ts";
export { deepFreeze } from "./deep-freeze.ts";
export { createEnvReader, type Environment, type EnvReader } from "./env-reader.ts";
export { ENVIRONMENT, type EnvironmentName } from "./environment-table.ts";
export type { EnvironmentVariable } from "./environment-variable.ts";
export {
  chooseGeneration,
  GENERATIONS,
  type Generation,
  type GenerationRules,
  generationRules,
  type ProxyType,
} from "./generations.ts";
export { applyMeshConfig } from "./mesh-config/apply-mesh-config.ts";
export { extensionProviderProblems } from "./mesh-config/extension-provider-problems.ts";
export { localityLbProblems } from "./mesh-config/locality-lb.ts";
export {
  defaultMeshConfig,
  type ExtensionProvider,
  type LocalityLbSetting,
  type MeshConfig,
} from "./mesh-config/mesh-config.ts";
export { parseMeshConfig } from "./mesh-config/parse-mesh-config.ts";
export { parseYaml, YamlError } from "./message/parse-yaml.ts";
export { printMessage } from "./message/print-message.ts";
export { printYaml } from "./message/print-yaml.ts";
export { formatProtoDuration, parseProtoDuration } from "./message/proto-duration.ts";
export { type PlatformDetection, type PlatformOptions, startPlatformDetection } from "./platform/detect-platform.ts";
export { cloudAccess, type PlatformAccess } from "./platform/platform-access.ts";
export {
  type Locality,
  NO_PLATFORM,
  type PlatformInfo,
  type PlatformName,
  type PlatformSettings,
  readPlatformSettings,
} from "./platform/platform-info.ts";
export { applyProxyConfig, proxyConfigJson, proxyConfigTable } from "./proxy-config/apply-proxy-config.ts";
export { defaultProxyConfig } from "./proxy-config/default-proxy-config.ts";
export { proxyConfigProblems } from "./proxy-config/validate-proxy-config.ts";
export { defaultProxyFlags, type ProxyFlags } from "./proxy-flags.ts";
export { type AgentConfig, type AgentConfigSources, readAgentConfig } from "./read-agent-config.ts";
export { redactConfigText } from "./redact.ts";
export type { NetworkInterfaces } from "./role/discover-addresses.ts";
export { type IpMode, ipModeOf } from "./role/ip-address.ts";
export { adminLocalhost, probeSourceAddress, statusLocalhost } from "./role/localhost.ts";
export { type ProxyRole, readRole } from "./role/read-role.ts";
export { type ConnectedProxy, formatServiceNode, parseServiceNode, ServiceNodeError } from "./role/service-node.ts";
export type { AgentOptions } from "./slices/agent.ts";
export type { CredentialFetcher } from "./slices/credential-fetcher.ts";
export type { DnsConfig } from "./slices/dns.ts";
export type { EnvoyConfig } from "./slices/envoy.ts";
export { splitProxyLogLevel } from "./slices/proxy-log-level.ts";
export { caRootCa, type RootCa, systemRootCa, xdsRootCa } from "./slices/root-ca.ts";
export type { SecurityConfig } from "./slices/security.ts";
export type { StatusConfig } from "./slices/status.ts";
export type { WasmConfig } from "./slices/wasm.ts";
export {
  type CertificateFiles,
  GKE_WORKLOAD_CERTS,
  ISTIOD_ROOT,
  MOUNTED_CERTS,
  TOKEN_PATH,
  WORKLOAD_CERTS,
  WORKLOAD_SOCKET_DIRECTORY,
} from "./slices/well-known-paths.ts";
export { pilotSan, type XdsConfig } from "./slices/xds.ts";
export { addressProblem, portProblem } from "./validation/address.ts";
export { fqdnProblem, isDnsLabel, wildcardDomainProblem } from "./validation/dns-name.ts";
export { durationProblem } from "./validation/duration-problem.ts";
export { formatErrorList } from "./validation/error-list.ts";
export { splitHostPort } from "./validation/split-host-port.ts";
export { tlsSettingsProblems } from "./validation/tls-settings.ts";
export { trustDomainProblem } from "./validation/trust-domain.ts";
