export { type DecodedObject, decodeObject } from "./decode/decode-object.ts";
export {
  type DocumentProblem,
  describeDocumentProblem,
  type ParsedConfig,
  parseConfigText,
} from "./decode/parse-config-text.ts";
export { DiscoveryError } from "./discovery-error.ts";
export {
  type AnyConfigObject,
  type ConfigObject,
  compareAge,
  type ObjectRef,
  objectKey,
} from "./model/config-object.ts";
export {
  type Endpoint,
  type EndpointHealth,
  isUnixAddress,
  type ServiceTarget,
  TLS_MODE_LABEL,
} from "./model/endpoint.ts";
export {
  compareSpecificity,
  hostCovers,
  hostsOverlap,
  isWildcard,
  mostSpecificHost,
  resolveShortHost,
} from "./model/hostname.ts";
export { formatLocality, type Locality, parseLocality } from "./model/locality.ts";
export { isHttp, isHttp2, isSniffed, isTcp, isTls, PROTOCOLS, type Protocol, parseProtocol } from "./model/protocol.ts";
export { type DescribedPort, selectProtocol } from "./model/select-protocol.ts";
export { selects } from "./model/selector.ts";
export {
  type AutoAllocated,
  defaultAddress,
  findPort,
  isHeadless,
  type Provider,
  type Resolution,
  type Service,
  type ServicePort,
  serviceKey,
} from "./model/service.ts";
export { type ExportTo, exportToKey, isPrivate, isVisibleTo } from "./model/visibility.ts";
export { formatSpiffe, parseSpiffe, type WorkloadIdentity } from "./model/workload-identity.ts";
export type {
  AuthSettings,
  Discovery,
  DiscoveryPorts,
  LimitSettings,
  PortOption,
  ServingFiles,
  StartDiscoveryOptions,
} from "./options.ts";
export { NodeError, parseNode, type XdsNode } from "./proxy/parse-node.ts";
export type { InterceptionMode, NodeTlsFiles, ProxyNode } from "./proxy/proxy-node.ts";
export { type AggregateRegistry, createAggregateRegistry } from "./registry/create-aggregate-registry.ts";
export { createServiceEntryRegistry, type ServiceEntryRegistry } from "./registry/create-service-entry-registry.ts";
export type { ProxyPlace, RegistryChange, RegistryListener, ServiceRegistry } from "./registry/service-registry.ts";
export { buildMeshSettings, defaultMeshSettings, parseMeshSettings } from "./snapshot/build-mesh-settings.ts";
export { changedTypes, proxyDependsOn } from "./snapshot/changes/changed-types.ts";
export { type ChangedKind, needsPush } from "./snapshot/changes/needs-push.ts";
export {
  changesOfConfig,
  changesOfRegistry,
  FORCED_CHANGES,
  mergeChanges,
  NO_CHANGES,
  type PushChanges,
} from "./snapshot/changes/push-changes.ts";
export { createPushSnapshot, type PushSnapshotInput } from "./snapshot/create-push-snapshot.ts";
export type { AccessLogSettings, MeshSettings } from "./snapshot/mesh-settings.ts";
export type {
  AppliedDestinationRule,
  EgressListener,
  InboundScope,
  MtlsMode,
  OutboundScope,
  ProxyView,
  PushSnapshot,
  ScopeTraits,
  VirtualServiceRule,
} from "./snapshot/push-snapshot.ts";
export type { RuleProblem } from "./snapshot/rule-problems.ts";
export { isKind, KINDS, type Kind, type SpecOf } from "./specs/kinds.ts";
export { startDiscovery } from "./start-discovery.ts";
export { type CombinedStore, combineStores } from "./store/combine-stores.ts";
export type { ConfigChange, ConfigListener, ConfigSnapshot, ConfigStore, ObjectChange } from "./store/config-store.ts";
export { createMemoryStore, type MemoryStore, type PutProblem, type PutResult } from "./store/create-memory-store.ts";
export { type FileStore, type FileStoreOptions, startFileStore } from "./store/start-file-store.ts";
export { StoreError } from "./store/store-error.ts";
export { re2Problem } from "./validation/re2-problem.ts";
