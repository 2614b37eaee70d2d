import { posix } from "node:path";
import type { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import {
  type CaClient,
  exchangeTokens,
  type IdentityMetrics,
  startCaClient,
  type TokenFetcher,
} from "../identity/index.ts";
import { connectThroughProxy } from "../net/http-proxy/proxy-route.ts";
import { tlsLimits } from "../net/tls/compliance-policy.ts";
import { NO_PLATFORM, type PlatformInfo } from "../platform/index.ts";
import { machineRoots } from "../protocol/x509/machine-roots.ts";
import { diskFiles } from "../settings/config-files.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { caRootCa, type RootCa, systemRootCa } from "../settings/root-ca.ts";
import { AgentStartError } from "./agent-error.ts";

export interface CaParts {
  readonly opened: CloseStack;
  readonly platform: Promise<PlatformInfo>;
  readonly tokens: TokenFetcher | undefined;
  readonly metrics: IdentityMetrics;
  readonly log: Logger;
}

const SCOPES: ReadonlyMap<string, string> = new Map([
  ["GoogleCA", "googleca"],
  ["GoogleCAS", "googlecas"],
]);

/** The client for the configured CA; what it opens is closed by `opened`. */
export async function connectCa(config: AgentConfig, parts: CaParts): Promise<CaClient> {
  const { security } = config;
  const { opened, metrics, log } = parts;
  const tokens =
    parts.tokens && security.exchangesCaTokens ? await federated(parts.tokens, config, parts) : parts.tokens;
  const root = findRoot(security);
  if ("problem" in root) {
    throw new AgentStartError(
      "start-failed",
      `failed to start workload secret manager failed to find root CA cert for CA: ${root.problem}`,
    );
  }
  log.info(`CA Endpoint ${security.caEndpoint}, provider ${security.caProvider}`);
  log.info(`Using CA ${security.caEndpoint} cert with ${root.path === "" ? "system certs" : `certs: ${root.path}`}`);
  const connect = connectThroughProxy(
    security.caEndpoint,
    config.proxies,
    machineRoots(systemRootCa(diskFiles.exists), log),
  );
  if (connect !== undefined) log.info("the CA is reached through the proxy of HTTPS_PROXY");
  const client = await startCaClient(security.caProvider, {
    endpoint: security.caEndpoint,
    serverName: security.caServerName === "" ? undefined : security.caServerName,
    rootFile: root.path,
    systemRootFile: systemRootCa(diskFiles.exists),
    clientCertificateDirectory: security.provCert === "" ? undefined : security.provCert,
    tokens,
    connect,
    tlsLimits: tlsLimits(security.compliancePolicy),
    clusterId: security.clusterId,
    certSigner: security.certSigner,
    clusterUrl: security.gkeClusterUrl,
    headers: security.caHeaders,
    keepalive: config.xds.upstream.keepalive,
    retries: metrics.outgoingRetries,
    log: log.scope(SCOPES.get(security.caProvider) ?? "citadelclient"),
  }).catch((cause: unknown) => {
    const reason = errorMessage(cause);
    throw new AgentStartError("start-failed", `failed to start workload secret manager ${reason}`, { cause });
  });
  opened.defer(() => client.close());
  return client;
}

/** The workload's tokens, each traded for a federated one. */
function federated(
  tokens: TokenFetcher,
  { security }: AgentConfig,
  { platform, metrics, log }: Pick<CaParts, "platform" | "metrics" | "log">,
): Promise<TokenFetcher> {
  const known = tokens.identityProvider || security.gkeClusterUrl;
  return exchangeTokens(tokens, {
    trustDomain: security.trustDomain,
    // The cloud may not be known yet; the first token is asked for later.
    identityProvider: async () =>
      known || ((await platform.catch(() => NO_PLATFORM)).metadata.gcp_gke_cluster_url ?? ""),
    ...(security.stsEndpoints.federated !== "" && { endpoint: security.stsEndpoints.federated }),
    retries: metrics.outgoingRetries,
    log: log.scope("stsclient"),
  });
}

/** A machine's own root certificate, which its CA client needs, is the first to be missed: before the xDS proxy, which reads it as well. */
export function requireMachineRoot({ security }: AgentConfig): void {
  const { provCert, caRootCa: configured, pilotCertProvider, caEndpoint } = security;
  if (provCert === "" || configured !== "" || pilotCertProvider === "custom" || !("problem" in findRoot(security)))
    return;
  const path = posix.join(provCert, "root-cert.pem");
  throw new AgentStartError("fatal-config", `invalid config - ${caEndpoint} missing a root certificate ${path}`);
}

function findRoot(security: AgentConfig["security"]): RootCa {
  if (security.caEndpoint.endsWith(":15010")) return { path: "" };
  return caRootCa({ configured: security.caRootCa, security }, diskFiles.exists);
}
