import { TYPE_PREFIX } from "../protobuf/type-url.ts";

const ENVOY_PREFIX = `${TYPE_PREFIX}envoy.`;

export const CLUSTER_TYPE = `${ENVOY_PREFIX}config.cluster.v3.Cluster`;
export const ENDPOINT_TYPE = `${ENVOY_PREFIX}config.endpoint.v3.ClusterLoadAssignment`;
export const LISTENER_TYPE = `${ENVOY_PREFIX}config.listener.v3.Listener`;
export const ROUTE_TYPE = `${ENVOY_PREFIX}config.route.v3.RouteConfiguration`;
export const SECRET_TYPE = `${ENVOY_PREFIX}extensions.transport_sockets.tls.v3.Secret`;
export const EXTENSION_TYPE = `${ENVOY_PREFIX}config.core.v3.TypedExtensionConfig`;
export const BOOTSTRAP_TYPE = `${ENVOY_PREFIX}config.bootstrap.v3.Bootstrap`;
export const NAME_TABLE_TYPE = `${TYPE_PREFIX}istio.networking.nds.v1.NameTable`;
export const PROXY_CONFIG_TYPE = `${TYPE_PREFIX}istio.mesh.v1alpha1.ProxyConfig`;
const WORKLOAD_TYPE = `${TYPE_PREFIX}istio.workload.Workload`;
/** How a VM's agent reports the health of its application; a request of this type is never answered. */
export const HEALTH_TYPE = `${TYPE_PREFIX}istio.v1.HealthInformation`;

const SHORT_NAMES: ReadonlyMap<string, string> = new Map([
  [CLUSTER_TYPE, "CDS"],
  [ENDPOINT_TYPE, "EDS"],
  [LISTENER_TYPE, "LDS"],
  [ROUTE_TYPE, "RDS"],
  [SECRET_TYPE, "SDS"],
  [EXTENSION_TYPE, "ECDS"],
  [NAME_TABLE_TYPE, "NDS"],
  [PROXY_CONFIG_TYPE, "PCDS"],
  [WORKLOAD_TYPE, "WDS"],
  [`${TYPE_PREFIX}istio.workload.Address`, "WDS"],
  [`${TYPE_PREFIX}istio.security.Authorization`, "WADS"],
]);

/** The name operators know in logs; types without one are shown whole. */
export function shortTypeName(typeUrl: string): string {
  return SHORT_NAMES.get(typeUrl) ?? typeUrl;
}

/** What Envoy and gRPC clients may see. Everything else is the control plane talking to another kind of client. */
export function isForwardedType(typeUrl: string): boolean {
  return typeUrl.startsWith(ENVOY_PREFIX) || typeUrl === WORKLOAD_TYPE;
}

/** Types of xDS itself, for Envoy: a response with such a resource is a response of that type. Debug pages carry others. */
export function isResponseType(typeUrl: string): boolean {
  return SHORT_NAMES.has(typeUrl) && isForwardedType(typeUrl);
}

/** Types that are subscribed to by name: a request without names unsubscribes. Of the others it is a wildcard subscription. */
const NAMED_TYPES: ReadonlySet<string> = new Set([SECRET_TYPE, ENDPOINT_TYPE, ROUTE_TYPE, EXTENSION_TYPE]);

export function needsNames(typeUrl: string): boolean {
  return NAMED_TYPES.has(typeUrl);
}
