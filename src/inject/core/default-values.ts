import type { Json } from "./json.ts";
import type { InjectionRules } from "./rules.ts";
import { overlayValues } from "./values.ts";

/** What an installation of a release has that sets nothing. */
export function defaultValues({ values }: InjectionRules): Json {
  return overlayValues(DEFAULT_VALUES, values);
}

/** The values that the built-in templates read, as of today. */
export const DEFAULT_VALUES: Json = {
  global: {
    istioNamespace: "istio-system",
    hub: "registry.istio.io/testing",
    tag: "latest",
    variant: "",
    imagePullPolicy: "",
    imagePullSecrets: [],
    logAsJson: false,
    nativeNftables: false,
    logging: { level: "default:info" },
    proxy: {
      image: "proxyv2",
      autoInject: "enabled",
      clusterDomain: "cluster.local",
      componentLogLevel: "misc:error",
      excludeInboundPorts: "",
      includeInboundPorts: "*",
      includeIPRanges: "*",
      excludeIPRanges: "",
      includeOutboundPorts: "",
      excludeOutboundPorts: "",
      logLevel: "warning",
      outlierLogPath: "",
      privileged: false,
      seccompProfile: {},
      readinessFailureThreshold: 4,
      readinessInitialDelaySeconds: 0,
      readinessPeriodSeconds: 15,
      startupProbe: { enabled: true, failureThreshold: 600 },
      resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "2000m", memory: "1024Mi" } },
      statusPort: 15020,
      tracer: "none",
    },
    proxy_init: { image: "proxyv2", forceApplyIptables: false },
    caAddress: "",
    caName: "",
    jwtPolicy: "third-party-jwt",
    meshID: "",
    mountMtlsCerts: false,
    multiCluster: { clusterName: "" },
    network: "",
    pilotCertProvider: "istiod",
    sds: { token: { aud: "istio-ca" } },
    sts: { servicePort: 0 },
  },
  sidecarInjectorWebhook: { rewriteAppHTTPProbe: true, templates: {}, defaultTemplates: [] },
  revision: "",
  pilot: { cni: { enabled: false, provider: "default" }, env: {} },
  gateways: { securityContext: {}, seccompProfile: {} },
};
