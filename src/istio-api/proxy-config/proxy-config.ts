import type * as mesh from "../../protobuf/gen/istio/mesh/v1alpha1.ts";
import type * as networking from "../../protobuf/gen/istio/networking/v1alpha3.ts";
import type { Sparse } from "../../protobuf/json-types.ts";

/**
 * istio.mesh.v1alpha1.ProxyConfig in proto3 JSON form: camelCase names, enums by name, wrappers bare, absent = unset. Unknown fields
 * are dropped by the reader that fills this type.
 */
export type ProxyConfig = Sparse<mesh.ProxyConfig>;

/** Seconds with 0, 3, 6 or 9 decimals and a final `s`: "45s", "0.500s". */
export type ProtoDuration = string;

export type StringMap = Readonly<Record<string, string>>;

export type ClientTlsSettings = Sparse<networking.ClientTLSSettings>;
export type ConnectionSettings = Sparse<mesh.ProxyConfig_ConnectionSettings>;
export type CryptoAccelerator = Sparse<mesh.PrivateKeyProvider_CryptoMb>;
export type ForwardClientCertDetails = mesh.ForwardClientCertDetails;
export type GatewayTopology = Sparse<mesh.Topology>;
export type PrivateKeyProvider = Sparse<mesh.PrivateKeyProvider>;
export type ProxyHeaders = Sparse<mesh.ProxyConfig_ProxyHeaders>;
export type ReadinessProbe = Sparse<networking.ReadinessProbe>;
export type RemoteService = Sparse<mesh.RemoteService>;
export type StackdriverTracer = Sparse<mesh.Tracing_Stackdriver>;
export type TcpKeepalive = Sparse<networking.ConnectionPoolSettings_TCPSettings_TcpKeepalive>;
export type TraceContext = mesh.Tracing_OpenCensusAgent_TraceContext;
export type Tracing = Sparse<mesh.Tracing>;
