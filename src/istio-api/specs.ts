import type * as extensions from "../protobuf/gen/istio/extensions/v1alpha1.ts";
import type * as networking from "../protobuf/gen/istio/networking/v1alpha3.ts";
import type * as security from "../protobuf/gen/istio/security/v1beta1.ts";
import type * as telemetry from "../protobuf/gen/istio/telemetry/v1alpha1.ts";
import type * as type from "../protobuf/gen/istio/type/v1beta1.ts";

/** Parts of rule objects, by shorter names than those of the API. Zero values are filled in; only what has presence may be absent. */
export type {
  CorsPolicy,
  Destination,
  Headers,
  OutboundTrafficPolicy,
  OutlierDetection,
  RouteDestination,
  SidecarPort,
  StringMatch,
  Subset,
  TrafficPolicy,
} from "../protobuf/gen/istio/networking/v1alpha3.ts";
export type ClientTls = networking.ClientTLSSettings;
export type ConnectionPool = networking.ConnectionPoolSettings;
export type ConsistentHash = networking.LoadBalancerSettings_ConsistentHashLB;
export type DestinationRuleSpec = networking.DestinationRule;
export type EnvoyFilterSpec = networking.EnvoyFilter;
export type EnvoyPatch = networking.EnvoyFilter_EnvoyConfigObjectPatch;
export type GatewayServer = networking.Server;
export type HeaderOperations = networking.Headers_HeaderOperations;
export type HttpDirectResponse = networking.HTTPDirectResponse;
export type HttpFault = networking.HTTPFaultInjection;
export type HttpMatch = networking.HTTPMatchRequest;
export type HttpRedirect = networking.HTTPRedirect;
export type HttpRetries = networking.HTTPRetry;
export type HttpRewrite = networking.HTTPRewrite;
export type HttpRoute = networking.HTTPRoute;
export type HttpRouteDestination = networking.HTTPRouteDestination;
export type LoadBalancer = networking.LoadBalancerSettings;
export type PortTrafficPolicy = networking.TrafficPolicy_PortTrafficPolicy;
export type ServerTls = networking.ServerTLSSettings;
export type ServiceEntryPort = networking.ServicePort;
export type ServiceEntrySpec = networking.ServiceEntry;
export type SidecarEgress = networking.IstioEgressListener;
export type SidecarIngress = networking.IstioIngressListener;
export type SidecarSpec = networking.Sidecar;
export type TcpMatch = networking.L4MatchAttributes;
export type TcpRoute = networking.TCPRoute;
export type TlsMatch = networking.TLSMatchAttributes;
export type TlsRoute = networking.TLSRoute;
export type VirtualServiceSpec = networking.VirtualService;
export type WorkloadEntrySpec = networking.WorkloadEntry;
export type WorkloadGroupSpec = networking.WorkloadGroup;
export type WorkloadProbe = networking.ReadinessProbe;
export type ZoneAwareLb = networking.ZoneAwareLoadBalancerSetting;

export type AuthorizationOperation = security.Operation;
export type AuthorizationPolicySpec = security.AuthorizationPolicy;
export type AuthorizationRule = security.Rule;
export type AuthorizationSource = security.Source;
export type JwtRule = security.JWTRule;
export type MutualTls = security.PeerAuthentication_MutualTLS;
export type RequestAuthenticationSpec = security.RequestAuthentication;

export type WasmPluginSpec = extensions.WasmPlugin;

export type TargetRef = type.PolicyTargetReference;

export type TelemetryAccessLogging = telemetry.AccessLogging;
export type TelemetryMetrics = telemetry.Metrics;
export type TelemetrySpec = telemetry.Telemetry;
export type TelemetryTracing = telemetry.Tracing;
