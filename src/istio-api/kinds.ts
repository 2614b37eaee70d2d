import type { MessageTypes } from "../protobuf/gen/istio-types.ts";
import { TABLES as MESH_CONFIG } from "../protobuf/gen/tables/mesh-config.ts";
import { TABLES as PROXY_CONFIG } from "../protobuf/gen/tables/proxy-config.ts";
import { TABLES as RULES } from "../protobuf/gen/tables/rules.ts";
import { withZeros } from "../protobuf/json/zero-values.ts";
import type { Sparse } from "../protobuf/json-types.ts";
import { type MessageTable, MessageTables } from "../protobuf/message-tables.ts";

const NETWORKING = { group: "networking.istio.io", versions: ["v1", "v1beta1", "v1alpha3"] } as const;
const SECURITY = { group: "security.istio.io", versions: ["v1", "v1beta1"] } as const;

/** Every kind of rule object, where it is served and the message that its spec is. */
export const KINDS = {
  ServiceEntry: { ...NETWORKING, spec: "istio.networking.v1alpha3.ServiceEntry" },
  WorkloadEntry: { ...NETWORKING, spec: "istio.networking.v1alpha3.WorkloadEntry" },
  WorkloadGroup: { ...NETWORKING, spec: "istio.networking.v1alpha3.WorkloadGroup" },
  VirtualService: { ...NETWORKING, spec: "istio.networking.v1alpha3.VirtualService" },
  DestinationRule: { ...NETWORKING, spec: "istio.networking.v1alpha3.DestinationRule" },
  Sidecar: { ...NETWORKING, spec: "istio.networking.v1alpha3.Sidecar" },
  Gateway: { ...NETWORKING, spec: "istio.networking.v1alpha3.Gateway" },
  EnvoyFilter: {
    group: NETWORKING.group,
    versions: ["v1alpha3"],
    spec: "istio.networking.v1alpha3.EnvoyFilter",
  },
  ProxyConfig: { group: NETWORKING.group, versions: ["v1beta1"], spec: "istio.networking.v1beta1.ProxyConfig" },
  PeerAuthentication: { ...SECURITY, spec: "istio.security.v1beta1.PeerAuthentication" },
  RequestAuthentication: { ...SECURITY, spec: "istio.security.v1beta1.RequestAuthentication" },
  AuthorizationPolicy: { ...SECURITY, spec: "istio.security.v1beta1.AuthorizationPolicy" },
  WasmPlugin: {
    group: "extensions.istio.io",
    versions: ["v1alpha1"],
    spec: "istio.extensions.v1alpha1.WasmPlugin",
  },
  Telemetry: {
    group: "telemetry.istio.io",
    versions: ["v1", "v1alpha1"],
    spec: "istio.telemetry.v1alpha1.Telemetry",
  },
} as const;

export type Kind = keyof typeof KINDS;
export type SpecOf<Of extends Kind> = MessageTypes[(typeof KINDS)[Of]["spec"]];

const TABLES = new MessageTables(PROXY_CONFIG, MESH_CONFIG, RULES);

export function isKind(name: unknown): name is Kind {
  return typeof name === "string" && Object.hasOwn(KINDS, name);
}

/** A message that holds what was set, as the mesh settings have them, with the zero values that rule objects have. */
export function complete<Name extends keyof MessageTypes>(
  name: Name,
  message: Sparse<MessageTypes[Name]>,
): MessageTypes[Name] {
  return withZeros(istioMessage(name), message) as unknown as MessageTypes[Name];
}

/** The table of one of Istio's messages. */
export function istioMessage(name: keyof MessageTypes): MessageTable {
  return TABLES.message(name);
}
