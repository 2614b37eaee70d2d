import { BOOTSTRAP_RULES } from "../../../src/bootstrap/core/generations.ts";
import type { BootstrapInputs } from "../../../src/bootstrap/inputs.ts";

/** Overrides by group; a group that is given is merged over the defaults. */
export interface InputOverrides
  extends Omit<Partial<BootstrapInputs>, "proxyConfig" | "agent" | "features" | "platform"> {
  readonly generation?: keyof typeof BOOTSTRAP_RULES;
  readonly proxyConfig?: Partial<BootstrapInputs["proxyConfig"]>;
  readonly agent?: Partial<BootstrapInputs["agent"]>;
  readonly features?: Partial<BootstrapInputs["features"]>;
  readonly platform?: Partial<BootstrapInputs["platform"]>;
}

/** A plain sidecar with the product's defaults. */
export function sidecarInputs(overrides: InputOverrides = {}): BootstrapInputs {
  const { proxyConfig, agent, features, platform, generation = "master", ...rest } = overrides;
  return {
    rules: BOOTSTRAP_RULES[generation],
    nodeId: "sidecar~10.0.0.1~p.ns~ns.svc.cluster.local",
    nodeIps: ["10.0.0.1"],
    env: { POD_NAME: "p", POD_NAMESPACE: "ns" },
    podLabels: null,
    podAnnotations: null,
    ...rest,
    proxyConfig: {
      configPath: "./etc/istio/proxy",
      binaryPath: "/usr/local/bin/envoy",
      serviceCluster: "istio-proxy",
      drainDuration: "45s",
      terminationDrainDuration: "5s",
      discoveryAddress: "istiod.istio-system.svc:15012",
      proxyAdminPort: 15000,
      statusPort: 15020,
      controlPlaneAuthPolicy: "MUTUAL_TLS",
      statNameLength: 189,
      ...proxyConfig,
    },
    platform: { metadata: {}, locality: {}, labels: {}, isKubernetes: true, ...platform },
    agent: {
      version: "1.0.0",
      pilotSubjectAltNames: ["istiod.istio-system.svc"],
      xdsRootCert: "",
      stsPort: 0,
      outlierLogPath: "",
      envoyPrometheusPort: 15090,
      envoyStatusPort: 15021,
      envoySecureMetricsPort: 0,
      envoySecureMergedMetricsPort: 0,
      workloadIdentitySocketFile: "socket",
      exitOnZeroActiveConnections: false,
      metadataDiscovery: undefined,
      envoySkipDeprecatedLogs: true,
      credentialSocketExists: false,
      customCredentialsFileExists: false,
      compliancePolicy: "",
      logAsJson: false,
      ...agent,
    },
    features: {
      deltaXds: true,
      dualStack: false,
      statusPortProxyProtocol: false,
      stripFragmentFromPath: true,
      xdsViaAgent: true,
      callCredentials: false,
      ...features,
    },
  };
}
