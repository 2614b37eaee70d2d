import type { LocalityLbSetting } from "../istio-api/mesh-config/mesh-config.ts";
import type { ProxyHeaders } from "../istio-api/proxy-config/proxy-config.ts";
import type { ClientTls, ConnectionPool, HttpRetries, OutlierDetection, ZoneAwareLb } from "../istio-api/specs.ts";

/** The mesh-wide settings that generators rely on; every default is filled in. Durations are milliseconds. */
export interface MeshSettings {
  readonly domainSuffix: string;
  readonly trustDomain: string;
  readonly trustDomainAliases: readonly string[];
  readonly rootNamespace: string;
  readonly proxyListenPort: number;
  readonly proxyInboundListenPort: number;
  readonly proxyHttpPort: number;
  readonly connectTimeoutMs: number;
  readonly protocolDetectionTimeoutMs: number;
  readonly dnsRefreshRateMs: number;
  readonly enableAutoMtls: boolean;
  readonly outboundTrafficPolicy: "ALLOW_ANY" | "REGISTRY_ONLY" | "ALLOW_ANY_DYNAMIC_DNS";
  /** For requests to hosts that are looked up as they are called. */
  readonly unknownHostsTls?: ClientTls;
  readonly inboundTrafficPolicy: "PASSTHROUGH" | "LOCALHOST";
  readonly localityLb: LocalityLbSetting;
  readonly zoneAwareLb?: ZoneAwareLb;
  /** For services whose rules are silent on it. */
  readonly defaultTrafficPolicy: DefaultTrafficPolicy;
  /** For TLS to servers outside the mesh. */
  readonly tlsDefaults: TlsDefaults;
  /** For the server's side of mutual TLS inside the mesh. */
  readonly meshMtls: Pick<TlsDefaults, "minimumVersion" | "cipherSuites">;
  /** Names of HTTP/1 headers keep their case, unless a proxy says otherwise. */
  readonly preservesHeaderCase: boolean;
  /** Hosts whose endpoints are for clients of their own cluster alone. */
  readonly clusterLocalHosts: readonly string[];
  readonly pathNormalization: "DEFAULT" | "NONE" | "BASE" | "MERGE_SLASHES" | "DECODE_AND_MERGE_SLASHES";
  readonly defaultServiceExportTo: readonly string[];
  readonly defaultVirtualServiceExportTo: readonly string[];
  readonly defaultDestinationRuleExportTo: readonly string[];
  readonly accessLog: AccessLogSettings;
  /** For proxies that send no configuration of their own. */
  readonly proxyHeaders: ProxyHeaders;
  /** For routes that say nothing about retries. */
  readonly defaultRetries?: HttpRetries;
  /** `PILOT_ENABLE_QUIC_LISTENERS`: gateways offer HTTP/3 beside HTTPS. */
  readonly quicListeners: boolean;
  /** `PILOT_ENABLE_PERSISTENT_SESSION_FILTER`: clients of services with sessions are held at one endpoint. */
  readonly persistentSessions: boolean;
  /** The whole mesh config in proto3 JSON form, for what is read rarely and for showing it. */
  readonly source: Readonly<Record<string, unknown>>;
}

export interface DefaultTrafficPolicy {
  readonly connectionPool?: ConnectionPool;
  readonly outlierDetection?: OutlierDetection;
}

/** Empty: Envoy's own. */
export interface TlsDefaults {
  readonly ecdhCurves: readonly string[];
  readonly cipherSuites: readonly string[];
  readonly minimumVersion?: "TLSv1_2" | "TLSv1_3";
}

export interface AccessLogSettings {
  /** Empty: off. */
  readonly file: string;
  readonly format: string;
  readonly encoding: "TEXT" | "JSON";
}
