import { deepFreeze } from "../../base/deep-freeze.ts";
import { defaultProxyConfig } from "../proxy-config/default-proxy-config.ts";
import type { ProtoDuration, ProxyConfig } from "../proxy-config/proxy-config.ts";
import type { ProxyConfigRules } from "../proxy-config/proxy-config-rules.ts";
import type { DefaultTrafficPolicy } from "./default-traffic-policy.ts";

export interface ExtensionProvider {
  readonly name?: string;
  /** The provider's settings under the name of its kind. */
  readonly [kind: string]: unknown;
}

/** Where traffic of a locality goes. */
export interface LocalityLbSetting {
  readonly distribute?: readonly { readonly from?: string; readonly to?: Readonly<Record<string, number>> }[];
  readonly failover?: readonly { readonly from?: string; readonly to?: string }[];
  readonly failoverPriority?: readonly string[];
  readonly enabled?: boolean;
}

/** istio.mesh.v1alpha1.MeshConfig in proto3 JSON form; fields that no rule here names are reached by their name. */
export interface MeshConfig {
  readonly defaultConfig?: ProxyConfig;
  readonly proxyListenPort?: number;
  readonly connectTimeout?: ProtoDuration;
  readonly protocolDetectionTimeout?: ProtoDuration;
  readonly trustDomain?: string;
  readonly trustDomainAliases?: readonly string[];
  readonly localityLbSetting?: LocalityLbSetting;
  readonly zoneAwareLbSetting?: Pick<LocalityLbSetting, "failover" | "failoverPriority" | "enabled">;
  readonly defaultTrafficPolicy?: DefaultTrafficPolicy;
  readonly serviceSettings?: readonly {
    readonly settings?: { readonly clusterLocal?: boolean };
    readonly hosts?: readonly string[];
  }[];
  readonly meshMTLS?: MeshTls;
  readonly tlsDefaults?: MeshTls;
  readonly defaultInboundHttpRetryPolicy?: HttpRetry;
  readonly extensionProviders?: readonly ExtensionProvider[];
  readonly defaultProviders?: Readonly<Record<string, readonly string[]>>;
  readonly [field: string]: unknown;
}

/** istio.mesh.v1alpha1.MeshConfig.TLSConfig. */
interface MeshTls {
  readonly minProtocolVersion?: "TLS_AUTO" | "TLSV1_2" | "TLSV1_3";
  readonly ecdhCurves?: readonly string[];
  readonly cipherSuites?: readonly string[];
}

/** istio.networking.v1alpha3.HTTPRetry, as far as it has rules. */
export interface HttpRetry {
  readonly attempts?: number;
  readonly perTryTimeout?: ProtoDuration;
  readonly retryOn?: string;
  readonly retryRemoteLocalities?: boolean;
  readonly retryIgnorePreviousHosts?: boolean;
  readonly backoff?: ProtoDuration;
}

/** What a mesh is before its file is read. */
export function defaultMeshConfig(rules: ProxyConfigRules): MeshConfig {
  return deepFreeze({
    proxyListenPort: 15001,
    proxyInboundListenPort: 15006,
    connectTimeout: "10s",
    protocolDetectionTimeout: "0s",
    ingressClass: "istio",
    ingressService: "istio-ingressgateway",
    ingressControllerMode: "STRICT",
    enableTracing: true,
    accessLogFile: "",
    accessLogEncoding: "TEXT",
    trustDomain: "cluster.local",
    trustDomainAliases: [],
    enableAutoMtls: true,
    outboundTrafficPolicy: { mode: "ALLOW_ANY" },
    inboundTrafficPolicy: { mode: "PASSTHROUGH" },
    localityLbSetting: { enabled: true },
    rootNamespace: "istio-system",
    defaultServiceExportTo: ["*"],
    defaultVirtualServiceExportTo: ["*"],
    defaultDestinationRuleExportTo: ["*"],
    dnsRefreshRate: "60s",
    enablePrometheusMerge: true,
    extensionProviders: [
      { name: "prometheus", prometheus: {} },
      { name: "stackdriver", stackdriver: {} },
      { name: "envoy", envoyFileAccessLog: { path: "/dev/stdout" } },
    ],
    defaultConfig: defaultProxyConfig(rules),
  });
}
