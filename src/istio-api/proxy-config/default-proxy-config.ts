import { deepFreeze } from "../../base/deep-freeze.ts";
import type { ProxyConfig } from "./proxy-config.ts";
import type { ProxyConfigRules } from "./proxy-config-rules.ts";

/** What a ProxyConfig is before any source is read. */
export function defaultProxyConfig(rules: ProxyConfigRules): ProxyConfig {
  return deepFreeze({
    configPath: "./etc/istio/proxy",
    binaryPath: "/usr/local/bin/envoy",
    serviceCluster: "istio-proxy",
    drainDuration: "45s",
    terminationDrainDuration: "5s",
    discoveryAddress: "istiod.istio-system.svc:15012",
    proxyAdminPort: 15000,
    controlPlaneAuthPolicy: "MUTUAL_TLS" as const,
    statNameLength: 189,
    statusPort: 15020,
    // Generations before master send spans to a collector in the control plane's namespace by default.
    ...(rules.defaultTracing && { tracing: { zipkin: { address: "zipkin.istio-system:9411" } } }),
    ...(rules.legacyProxyConfigDefaults && {
      concurrency: 2,
      parentShutdownDuration: "60s",
      envoyAccessLogService: {},
      envoyMetricsService: {},
    }),
  });
}
