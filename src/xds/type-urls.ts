const GOOGLEAPIS = "type.googleapis.com/";
const ENVOY_PREFIX = `${GOOGLEAPIS}envoy.`;

export const CLUSTER_TYPE = `${ENVOY_PREFIX}config.cluster.v3.Cluster`;
export const LISTENER_TYPE = `${ENVOY_PREFIX}config.listener.v3.Listener`;
export const SECRET_TYPE = `${ENVOY_PREFIX}extensions.transport_sockets.tls.v3.Secret`;
export const EXTENSION_TYPE = `${ENVOY_PREFIX}config.core.v3.TypedExtensionConfig`;
export const NAME_TABLE_TYPE = `${GOOGLEAPIS}istio.networking.nds.v1.NameTable`;
export const PROXY_CONFIG_TYPE = `${GOOGLEAPIS}istio.mesh.v1alpha1.ProxyConfig`;
export const HEALTH_TYPE = `${GOOGLEAPIS}istio.v1.HealthInformation`;
export const WORKLOAD_TYPE = `${GOOGLEAPIS}istio.workload.Workload`;

const SHORT_NAMES: ReadonlyMap<string, string> = new Map([
  [CLUSTER_TYPE, "CDS"],
  [`${ENVOY_PREFIX}config.endpoint.v3.ClusterLoadAssignment`, "EDS"],
  [LISTENER_TYPE, "LDS"],
  [`${ENVOY_PREFIX}config.route.v3.RouteConfiguration`, "RDS"],
  [SECRET_TYPE, "SDS"],
  [EXTENSION_TYPE, "ECDS"],
  [NAME_TABLE_TYPE, "NDS"],
  [PROXY_CONFIG_TYPE, "PCDS"],
  [WORKLOAD_TYPE, "WDS"],
  [`${GOOGLEAPIS}istio.workload.Address`, "WDS"],
  [`${GOOGLEAPIS}istio.security.Authorization`, "WADS"],
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
