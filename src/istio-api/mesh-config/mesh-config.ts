import { deepFreeze } from "../../base/deep-freeze.ts";
import type * as mesh from "../../protobuf/gen/istio/mesh/v1alpha1.ts";
import type * as networking from "../../protobuf/gen/istio/networking/v1alpha3.ts";
import type { Sparse } from "../../protobuf/json-types.ts";
import { defaultProxyConfig } from "../proxy-config/default-proxy-config.ts";
import type { ProxyConfigRules } from "../proxy-config/proxy-config-rules.ts";

/** istio.mesh.v1alpha1.MeshConfig in proto3 JSON form. */
export type MeshConfig = Sparse<mesh.MeshConfig>;
export type DefaultTrafficPolicy = Sparse<mesh.MeshConfig_DefaultTrafficPolicy>;
export type ExtensionProvider = Sparse<mesh.MeshConfig_ExtensionProvider>;
export type HttpRetry = Sparse<networking.HTTPRetry>;
export type LocalityLbSetting = Sparse<networking.LocalityLoadBalancerSetting>;

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
