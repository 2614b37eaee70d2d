import { buildStamp } from "../base/build-stamp.ts";
import { type BootstrapInputs, pilotSubjectAltNames } from "../bootstrap/index.ts";
import { proxyConfigJson } from "../istio-api/proxy-config/apply-proxy-config.ts";
import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import type { EnvReader } from "./env-reader.ts";
import { skipsDeprecatedLogs } from "./envoy.ts";
import type { GenerationRules } from "./generations.ts";
import type { ProxyFlags } from "./proxy-flags.ts";
import type { ProxyRole } from "./role/read-role.ts";
import { type FileExists, systemRootCa } from "./root-ca.ts";

/** The inputs of Envoy's bootstrap; the composition root adds environment, pod, platform and which sockets are served. */
export interface BootstrapSettings
  extends Pick<BootstrapInputs, "rules" | "nodeId" | "nodeIps" | "proxyConfig" | "features"> {
  readonly agent: Omit<BootstrapInputs["agent"], "credentialSocketExists" | "customCredentialsFileExists">;
  /** ISTIO_BOOTSTRAP: a template instead of the image's; "" for none. */
  readonly template: string;
  /** ISTIO_BOOTSTRAP_OVERRIDE: a file that Envoy merges over its bootstrap; "" for none. */
  readonly override: string;
}

export interface BootstrapSources {
  readonly env: EnvReader;
  readonly flags: ProxyFlags;
  readonly role: ProxyRole;
  readonly proxyConfig: ProxyConfig;
  readonly rules: GenerationRules;
  readonly exists: FileExists;
}

export function readBootstrapSettings(sources: BootstrapSources): BootstrapSettings {
  const { env, flags, role, proxyConfig, rules, exists } = sources;
  const rootCa = env.string("XDS_ROOT_CA");
  return {
    rules: rules.bootstrap,
    nodeId: role.serviceNode,
    nodeIps: role.ipAddresses,
    proxyConfig: proxyConfigJson(proxyConfig),
    template: env.string("ISTIO_BOOTSTRAP"),
    override: env.string("ISTIO_BOOTSTRAP_OVERRIDE"),
    agent: {
      version: reportedVersion(rules.release),
      pilotSubjectAltNames: pilotSubjectAltNames(proxyConfig),
      // Envoy reads files only and does not know the word for the system's bundle.
      xdsRootCert: rootCa === "SYSTEM" ? (systemRootCa(exists) ?? "") : rootCa,
      stsPort: flags.stsPort,
      outlierLogPath: flags.outlierLogPath,
      envoyPrometheusPort: env.int("ENVOY_PROMETHEUS_PORT"),
      envoyStatusPort: env.int("ENVOY_STATUS_PORT"),
      envoySecureMetricsPort: env.int("ENVOY_SECURE_METRICS_PORT"),
      envoySecureMergedMetricsPort: env.int("ENVOY_SECURE_MERGED_METRICS_PORT"),
      workloadIdentitySocketFile: env.string("WORKLOAD_IDENTITY_SOCKET_FILE"),
      exitOnZeroActiveConnections: env.bool("EXIT_ON_ZERO_ACTIVE_CONNECTIONS"),
      metadataDiscovery: env.isSet("PEER_METADATA_DISCOVERY") ? env.bool("PEER_METADATA_DISCOVERY") : undefined,
      envoySkipDeprecatedLogs: skipsDeprecatedLogs(env),
      compliancePolicy: env.string("COMPLIANCE_POLICY"),
      logAsJson: flags.logAsJson,
    },
    features: {
      deltaXds: env.bool("ISTIO_DELTA_XDS"),
      dualStack: env.bool("ISTIO_DUAL_STACK"),
      statusPortProxyProtocol: env.bool("ENVOY_STATUS_PORT_ENABLE_PROXY_PROTOCOL"),
      stripFragmentFromPath: env.bool("HTTP_STRIP_FRAGMENT_FROM_PATH_UNSAFE_IF_DISABLED"),
      xdsViaAgent: env.bool("PROXY_XDS_VIA_AGENT"),
      callCredentials: env.bool("CALL_CREDENTIALS"),
    },
  };
}

/**
 * What the node says as its ISTIO_VERSION. Control planes leave out what the proxies of older releases would not understand, and read the
 * numbers in front only: so those are the release the agent behaves as, and its own version follows.
 */
export function reportedVersion(release: string): string {
  return `${release}.0-pilot-agent.${buildStamp.version}`;
}
