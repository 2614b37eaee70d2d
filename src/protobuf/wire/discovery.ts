import {
  bytes,
  int64,
  type MessageType,
  map,
  message,
  nested,
  repeated,
  repeatedString,
  string,
  uint32,
} from "./message.ts";

/** google.protobuf.Any. `value` is a view on the decoded buffer. */
export const any = message({ typeUrl: string(1), value: bytes(2) });
export type Any = MessageType<typeof any>;

/** google.protobuf.Duration. */
export const duration = message({ seconds: int64(1), nanos: uint32(2) });
export type Duration = MessageType<typeof duration>;

/** google.rpc.Status; its details are not read. */
const rpcStatus = message({ code: uint32(1), message: string(2) });

/** envoy.config.core.v3.Locality. */
const locality = message({ region: string(1), zone: string(2), subZone: string(3) });

/** envoy.config.core.v3.Node. The metadata Struct stays opaque: whoever forwards a node must not change a byte of it. */
const node = message({
  id: string(1),
  cluster: string(2),
  metadata: bytes(3),
  locality: nested(4, locality),
  userAgentName: string(6),
  userAgentVersion: string(7),
});
export type Node = MessageType<typeof node>;

/** envoy.service.discovery.v3.DiscoveryRequest. */
export const discoveryRequest = message({
  versionInfo: string(1),
  node: nested(2, node),
  resourceNames: repeatedString(3),
  typeUrl: string(4),
  responseNonce: string(5),
  errorDetail: nested(6, rpcStatus),
});
export type DiscoveryRequest = MessageType<typeof discoveryRequest>;

/** envoy.service.discovery.v3.DiscoveryResponse. */
export const discoveryResponse = message({
  versionInfo: string(1),
  resources: repeated(2, any),
  typeUrl: string(4),
  nonce: string(5),
});
export type DiscoveryResponse = MessageType<typeof discoveryResponse>;

/** envoy.service.discovery.v3.Resource: one entry of an incremental answer. */
const resource = message({ version: string(1), resource: nested(2, any), name: string(3) });
export type Resource = MessageType<typeof resource>;

/** envoy.service.discovery.v3.DeltaDiscoveryRequest. */
export const deltaDiscoveryRequest = message({
  node: nested(1, node),
  typeUrl: string(2),
  resourceNamesSubscribe: repeatedString(3),
  resourceNamesUnsubscribe: repeatedString(4),
  initialResourceVersions: map(5, string(2)),
  responseNonce: string(6),
  errorDetail: nested(7, rpcStatus),
});
export type DeltaDiscoveryRequest = MessageType<typeof deltaDiscoveryRequest>;

/** envoy.service.discovery.v3.DeltaDiscoveryResponse. */
export const deltaDiscoveryResponse = message({
  systemVersionInfo: string(1),
  resources: repeated(2, resource),
  typeUrl: string(4),
  nonce: string(5),
  removedResources: repeatedString(6),
});
export type DeltaDiscoveryResponse = MessageType<typeof deltaDiscoveryResponse>;
