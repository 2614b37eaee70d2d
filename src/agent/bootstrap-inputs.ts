import { buildStamp } from "../base/build-stamp.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import { type BootstrapInputs, pilotSubjectAltNames } from "../bootstrap/index.ts";
import { proxyConfigJson } from "../istio-api/proxy-config/apply-proxy-config.ts";
import type { PlatformInfo } from "../platform/index.ts";
import { probeSocket, type SdsStart } from "../sds/index.ts";
import { diskFiles, fileErrorText, readIfPresent } from "../settings/config-files.ts";
import type { Environment } from "../settings/env-reader.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { systemRootCa } from "../settings/root-ca.ts";

const LABELS_PATH = "./etc/istio/pod/labels";
const ANNOTATIONS_PATH = "./etc/istio/pod/annotations";
const CREDENTIAL_SOCKET = "./var/run/secrets/credential-uds/socket";

export interface BootstrapSources {
  readonly config: AgentConfig;
  readonly env: Environment;
  readonly platform: PlatformInfo;
  readonly sds: SdsStart;
  /** The file that checks the control plane's certificate; "" when Envoy does not talk to it itself. */
  readonly xdsRootCert: string;
}

/** Everything the bootstrap is made of. Pod files are read each time: labels may have changed since the last start of Envoy. */
export async function readBootstrapInputs(
  sources: BootstrapSources,
  log: Logger = silentLogger,
): Promise<BootstrapInputs> {
  const { config, platform, sds } = sources;
  const { envoy, agent, security, xds, generation, role } = config;
  const { region, zone, subzone } = platform.locality;
  const [podLabels, podAnnotations, credentialSocket] = await Promise.all([
    readIfThere(LABELS_PATH, (reason) => log.warn(`failed to read pod labels: ${reason}`)),
    // Told when the configuration was read.
    readIfThere(ANNOTATIONS_PATH, () => undefined),
    probeSocket(CREDENTIAL_SOCKET),
  ]);
  return {
    rules: generation.bootstrap,
    nodeId: role.serviceNode,
    nodeIps: role.ipAddresses,
    proxyConfig: proxyConfigJson(config.proxyConfig),
    env: definedValues(sources.env),
    podLabels,
    podAnnotations,
    platform: {
      metadata: platform.metadata,
      locality: { ...(region && { region }), ...(zone && { zone }), ...(subzone && { sub_zone: subzone }) },
      labels: platform.labels,
      isKubernetes: platform.isKubernetes,
    },
    agent: {
      version: reportedVersion(generation.release),
      pilotSubjectAltNames: pilotSubjectAltNames(config.proxyConfig),
      // Envoy knows files only, not the word for whatever the system trusts.
      xdsRootCert: sources.xdsRootCert === "SYSTEM" ? (systemRootCa(diskFiles.exists) ?? "") : sources.xdsRootCert,
      stsPort: agent.stsPort,
      outlierLogPath: envoy.outlierLogPath,
      envoyPrometheusPort: envoy.prometheusPort,
      envoyStatusPort: envoy.statusPort,
      envoySecureMetricsPort: envoy.secureMetricsPort,
      envoySecureMergedMetricsPort: envoy.secureMergedMetricsPort,
      workloadIdentitySocketFile: security.socketFile,
      exitOnZeroActiveConnections: envoy.exitOnZeroActiveConnections,
      metadataDiscovery: agent.metadataDiscovery ?? undefined,
      envoySkipDeprecatedLogs: envoy.skipDeprecatedLogs,
      credentialSocketExists: credentialSocket === "alive",
      customCredentialsFileExists: sds.mode === "files-only",
      compliancePolicy: security.compliancePolicy,
      logAsJson: envoy.logAsJson,
    },
    features: {
      deltaXds: xds.delta,
      dualStack: envoy.dualStack,
      statusPortProxyProtocol: envoy.statusPortProxyProtocol,
      stripFragmentFromPath: envoy.stripFragmentFromPath,
      xdsViaAgent: xds.viaAgent,
      callCredentials: security.callCredentials,
    },
  };
}

async function readIfThere(path: string, onProblem: (reason: string) => void): Promise<string | null> {
  try {
    return (await readIfPresent(diskFiles, path)) ?? null;
  } catch (thrown) {
    onProblem(fileErrorText(path, thrown));
    return null;
  }
}

function definedValues(env: Environment): Record<string, string> {
  const defined: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined) defined[name] = value;
  return defined;
}

/**
 * What the node says as its ISTIO_VERSION. Control planes leave out what the proxies of older releases would not understand, and read the
 * numbers in front only: so those are the release the agent behaves as, and its own version follows.
 */
export function reportedVersion(release: string): string {
  return `${release}.0-pilot-agent.${buildStamp.version}`;
}
