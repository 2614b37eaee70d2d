import {
  type EnumTable,
  field,
  list,
  type MessageTable,
  map,
  oneof,
  wrapper,
} from "../../protobuf/json-message/message-table.ts";
import { CLIENT_TLS_SETTINGS, PROXY_CONFIG, TCP_KEEPALIVE } from "../proxy-config/proxy-config-table.ts";
import { EXTENSION_PROVIDER } from "./extension-provider-table.ts";
import { DEFAULT_TRAFFIC_POLICY, ZONE_AWARE_LB } from "./traffic-policy-table.ts";

const mesh = (name: string) => `istio.mesh.v1alpha1.${name}`;
const message = (name: string, ...fields: MessageTable["fields"]): MessageTable => ({ fullName: mesh(name), fields });
const named = (name: string, values: EnumTable["values"]): EnumTable => ({ fullName: mesh(name), values });

const LOCALITY_LB: MessageTable = {
  fullName: "istio.networking.v1alpha3.LocalityLoadBalancerSetting",
  fields: [
    field(
      "distribute",
      1,
      message("LocalityLoadBalancerSetting.Distribute", field("from", 1, "string"), field("to", 2, "uint32", map)),
      list,
    ),
    field(
      "failover",
      2,
      message("LocalityLoadBalancerSetting.Failover", field("from", 1, "string"), field("to", 2, "string")),
      list,
    ),
    field("failoverPriority", 4, "string", list),
    field("enabled", 3, "bool", wrapper),
  ],
};

const HTTP_RETRY: MessageTable = {
  fullName: "istio.networking.v1alpha3.HTTPRetry",
  fields: [
    field("attempts", 1, "int32"),
    field("perTryTimeout", 2, "duration"),
    field("retryOn", 3, "string"),
    field("retryRemoteLocalities", 4, "bool", wrapper),
    field("retryIgnorePreviousHosts", 5, "bool", wrapper),
    field("backoff", 6, "duration"),
  ],
};

const TLS_CONFIG = message(
  "MeshConfig.TLSConfig",
  field("minProtocolVersion", 1, named("MeshConfig.TLSConfig.TLSProtocol", { TLS_AUTO: 0, TLSV1_2: 1, TLSV1_3: 2 })),
  field("ecdhCurves", 2, "string", list),
  field("cipherSuites", 3, "string", list),
);

const CERTIFICATE_DATA = message(
  "MeshConfig.CertificateData",
  ...oneof("certificateData", field("pem", 1, "string"), field("spiffeBundleUrl", 2, "string")),
  field("certSigners", 3, "string", list),
  field("trustDomains", 4, "string", list),
);

const CONFIG_SOURCE = message(
  "ConfigSource",
  field("address", 1, "string"),
  field("tlsSettings", 2, CLIENT_TLS_SETTINGS),
  field("subscribedResources", 3, named("Resource", { SERVICE_REGISTRY: 0 }), list),
);

const CA = message(
  "MeshConfig.CA",
  field("address", 1, "string"),
  field("tlsSettings", 2, CLIENT_TLS_SETTINGS),
  field("requestTimeout", 3, "duration"),
  field("istiodSide", 4, "bool"),
);

const SERVICE_SETTINGS = message(
  "MeshConfig.ServiceSettings",
  field("settings", 1, message("MeshConfig.ServiceSettings.Settings", field("clusterLocal", 1, "bool"))),
  field("hosts", 2, "string", list),
);

const DEFAULT_PROVIDERS = message(
  "MeshConfig.DefaultProviders",
  field("tracing", 1, "string", list),
  field("metrics", 2, "string", list),
  field("accessLogging", 3, "string", list),
);

/** Named as Kubernetes names it. */
const LABEL_SELECTOR = message(
  "LabelSelector",
  field("matchLabels", 1, "string", { ...map, protoName: "matchLabels" }),
  field(
    "matchExpressions",
    2,
    message(
      "LabelSelectorRequirement",
      field("key", 1, "string"),
      field("operator", 2, "string"),
      field("values", 3, "string", list),
    ),
    { ...list, protoName: "matchExpressions" },
  ),
);

const SERVICE_SCOPE = message(
  "MeshConfig.ServiceScopeConfigs",
  field("namespaceSelector", 1, LABEL_SELECTOR),
  field("servicesSelector", 2, LABEL_SELECTOR),
  field("scope", 3, named("MeshConfig.ServiceScopeConfigs.Scope", { LOCAL: 0, GLOBAL: 1 })),
);

const VISIBILITY = named("ServiceEntryVisibility.Visibility", {
  VISIBILITY_UNSPECIFIED: 0,
  NONE: 1,
  NAMESPACE: 2,
  PUBLIC: 3,
});

const SERVICE_ENTRY_VISIBILITY = message(
  "ServiceEntryVisibility",
  field("defaultVisibility", 1, VISIBILITY),
  field("applyToSidecars", 2, "bool"),
  field(
    "policies",
    3,
    message(
      "ServiceEntryVisibility.Policy",
      field("visibility", 1, VISIBILITY),
      field(
        "matchingRules",
        2,
        message("ServiceEntryVisibility.MatchRule", ...oneof("matcher", field("namespaceSelector", 1, LABEL_SELECTOR))),
        list,
      ),
    ),
    list,
  ),
);

/** istio.mesh.v1alpha1.MeshConfig. */
export const MESH_CONFIG: MessageTable = message(
  "MeshConfig",
  field("proxyListenPort", 4, "int32"),
  field("proxyInboundListenPort", 65, "int32"),
  field("proxyHttpPort", 5, "int32"),
  field("connectTimeout", 6, "duration"),
  field("hboneIdleTimeout", 70, "duration"),
  field("protocolDetectionTimeout", 42, "duration"),
  field("tcpKeepalive", 28, TCP_KEEPALIVE),
  field("ingressClass", 7, "string"),
  field("ingressService", 8, "string"),
  field(
    "ingressControllerMode",
    9,
    named("MeshConfig.IngressControllerMode", { UNSPECIFIED: 0, OFF: 1, DEFAULT: 2, STRICT: 3 }),
  ),
  field("ingressSelector", 52, "string"),
  field("enableTracing", 12, "bool"),
  field("accessLogFile", 13, "string"),
  field("accessLogFormat", 24, "string"),
  field("accessLogEncoding", 27, named("MeshConfig.AccessLogEncoding", { TEXT: 0, JSON: 1 })),
  field("enableEnvoyAccessLogService", 40, "bool"),
  field("disableEnvoyListenerLog", 56, "bool"),
  field("defaultConfig", 14, PROXY_CONFIG),
  field(
    "outboundTrafficPolicy",
    17,
    message(
      "MeshConfig.OutboundTrafficPolicy",
      field(
        "mode",
        1,
        named("MeshConfig.OutboundTrafficPolicy.Mode", { REGISTRY_ONLY: 0, ALLOW_ANY: 1, ALLOW_ANY_DYNAMIC_DNS: 3 }),
      ),
      field("tls", 2, CLIENT_TLS_SETTINGS),
    ),
  ),
  field(
    "inboundTrafficPolicy",
    66,
    message(
      "MeshConfig.InboundTrafficPolicy",
      field("mode", 1, named("MeshConfig.InboundTrafficPolicy.Mode", { PASSTHROUGH: 0, LOCALHOST: 1 })),
    ),
  ),
  field("configSources", 22, CONFIG_SOURCE, list),
  field("enableAutoMtls", 43, "bool", wrapper),
  field("trustDomain", 26, "string"),
  field("trustDomainAliases", 46, "string", list),
  field("caCertificates", 58, CERTIFICATE_DATA, list),
  field("defaultServiceExportTo", 31, "string", list),
  field("defaultVirtualServiceExportTo", 32, "string", list),
  field("defaultDestinationRuleExportTo", 33, "string", list),
  field("rootNamespace", 34, "string"),
  field("localityLbSetting", 35, LOCALITY_LB),
  field("zoneAwareLbSetting", 73, ZONE_AWARE_LB),
  field("dnsRefreshRate", 36, "duration"),
  field("h2UpgradePolicy", 41, named("MeshConfig.H2UpgradePolicy", { DO_NOT_UPGRADE: 0, UPGRADE: 1 })),
  field("inboundClusterStatName", 44, "string"),
  field("outboundClusterStatName", 45, "string"),
  field(
    "certificates",
    47,
    message("Certificate", field("secretName", 1, "string"), field("dnsNames", 2, "string", list)),
    list,
  ),
  field("serviceSettings", 50, SERVICE_SETTINGS, list),
  field("serviceScopeConfigs", 67, SERVICE_SCOPE, list),
  field("enablePrometheusMerge", 51, "bool", wrapper),
  field("verifyCertificateAtClient", 54, "bool", wrapper),
  field("ca", 55, CA),
  field("extensionProviders", 57, EXTENSION_PROVIDER, list),
  field("defaultProviders", 60, DEFAULT_PROVIDERS),
  field("discoverySelectors", 59, LABEL_SELECTOR, list),
  field(
    "pathNormalization",
    61,
    message(
      "MeshConfig.ProxyPathNormalization",
      field(
        "normalization",
        1,
        named("MeshConfig.ProxyPathNormalization.NormalizationType", {
          DEFAULT: 0,
          NONE: 1,
          BASE: 2,
          MERGE_SLASHES: 3,
          DECODE_AND_MERGE_SLASHES: 4,
        }),
      ),
    ),
  ),
  field("defaultHttpRetryPolicy", 62, HTTP_RETRY),
  // Newer than the published message: read by name only, so its number is never put on the wire.
  field("defaultInboundHttpRetryPolicy", 0, HTTP_RETRY),
  field("meshMTLS", 63, TLS_CONFIG, { protoName: "mesh_mTLS" }),
  field("tlsDefaults", 64, TLS_CONFIG),
  field("defaultTrafficPolicy", 71, DEFAULT_TRAFFIC_POLICY),
  field("serviceEntryVisibility", 72, SERVICE_ENTRY_VISIBILITY),
);
