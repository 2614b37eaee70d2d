import type { Infer } from "../schema/schema.ts";
import { DESTINATION_RULE } from "./destination-rule.ts";
import { ENVOY_FILTER } from "./envoy-filter.ts";
import { GATEWAY } from "./gateway.ts";
import { AUTHORIZATION_POLICY, PEER_AUTHENTICATION, REQUEST_AUTHENTICATION } from "./security.ts";
import { SERVICE_ENTRY, WORKLOAD_ENTRY } from "./service-entry.ts";
import { SIDECAR } from "./sidecar.ts";
import { PROXY_CONFIG, TELEMETRY } from "./telemetry.ts";
import { VIRTUAL_SERVICE } from "./virtual-service.ts";
import { WORKLOAD_GROUP } from "./workload-group.ts";

const NETWORKING = { group: "networking.istio.io", versions: ["v1", "v1beta1", "v1alpha3"] } as const;
const SECURITY = { group: "security.istio.io", versions: ["v1", "v1beta1"] } as const;

/** Every kind of rule object, where it is served and what its spec looks like. */
export const KINDS = {
  ServiceEntry: { ...NETWORKING, spec: SERVICE_ENTRY },
  WorkloadEntry: { ...NETWORKING, spec: WORKLOAD_ENTRY },
  WorkloadGroup: { ...NETWORKING, spec: WORKLOAD_GROUP },
  VirtualService: { ...NETWORKING, spec: VIRTUAL_SERVICE },
  DestinationRule: { ...NETWORKING, spec: DESTINATION_RULE },
  Sidecar: { ...NETWORKING, spec: SIDECAR },
  Gateway: { ...NETWORKING, spec: GATEWAY },
  EnvoyFilter: { group: NETWORKING.group, versions: ["v1alpha3"], spec: ENVOY_FILTER },
  ProxyConfig: { group: NETWORKING.group, versions: ["v1beta1"], spec: PROXY_CONFIG },
  PeerAuthentication: { ...SECURITY, spec: PEER_AUTHENTICATION },
  RequestAuthentication: { ...SECURITY, spec: REQUEST_AUTHENTICATION },
  AuthorizationPolicy: { ...SECURITY, spec: AUTHORIZATION_POLICY },
  Telemetry: { group: "telemetry.istio.io", versions: ["v1", "v1alpha1"], spec: TELEMETRY },
} as const;

export type Kind = keyof typeof KINDS;
export type SpecOf<Of extends Kind> = Infer<(typeof KINDS)[Of]["spec"]>;

export function isKind(name: unknown): name is Kind {
  return typeof name === "string" && Object.hasOwn(KINDS, name);
}
