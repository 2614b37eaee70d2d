import type { LocalityLbSetting } from "../../config/index.ts";

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
  readonly outboundTrafficPolicy: "ALLOW_ANY" | "REGISTRY_ONLY";
  readonly inboundTrafficPolicy: "PASSTHROUGH" | "LOCALHOST";
  readonly localityLb: LocalityLbSetting;
  readonly pathNormalization: "DEFAULT" | "NONE" | "BASE" | "MERGE_SLASHES" | "DECODE_AND_MERGE_SLASHES";
  readonly defaultServiceExportTo: readonly string[];
  readonly defaultVirtualServiceExportTo: readonly string[];
  readonly defaultDestinationRuleExportTo: readonly string[];
  readonly accessLog: AccessLogSettings;
  /** The whole mesh config in proto3 JSON form, for what is read rarely and for showing it. */
  readonly source: Readonly<Record<string, unknown>>;
}

export interface AccessLogSettings {
  /** Empty: off. */
  readonly file: string;
  readonly format: string;
  readonly encoding: "TEXT" | "JSON";
}
