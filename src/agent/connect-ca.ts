import type { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { type CaClient, type IdentityMetrics, startCaClient, type TokenFetcher } from "../identity/index.ts";
import { connectThroughProxy } from "../net/http-proxy/proxy-route.ts";
import { tlsLimits } from "../net/tls/compliance-policy.ts";
import { diskFiles } from "../settings/config-files.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { caRootCa, systemRootCa } from "../settings/root-ca.ts";
import { AgentStartError } from "./agent-error.ts";

/** The client for the configured CA; what it opens is closed by `opened`. */
export async function connectCa(
  config: AgentConfig,
  parts: {
    readonly opened: CloseStack;
    readonly tokens: TokenFetcher | undefined;
    readonly metrics: IdentityMetrics;
    readonly log: Logger;
  },
): Promise<CaClient> {
  const { security } = config;
  const { opened, tokens, metrics, log } = parts;
  const root = security.caEndpoint.endsWith(":15010")
    ? { path: "" }
    : caRootCa({ configured: security.caRootCa, security }, diskFiles.exists);
  if ("problem" in root) {
    throw new AgentStartError(
      "start-failed",
      `failed to start workload secret manager failed to find root CA cert for CA: ${root.problem}`,
    );
  }
  log.info(`CA Endpoint ${security.caEndpoint}, provider ${security.caProvider}`);
  log.info(`Using CA ${security.caEndpoint} cert with ${root.path === "" ? "system certs" : `certs: ${root.path}`}`);
  const connect = connectThroughProxy(security.caEndpoint, config.proxies);
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
    headers: security.caHeaders,
    keepalive: config.xds.upstream.keepalive,
    retries: metrics.outgoingRetries,
    log: log.scope("citadelclient"),
  }).catch((cause: unknown) => {
    const reason = errorMessage(cause);
    throw new AgentStartError("start-failed", `failed to start workload secret manager ${reason}`, { cause });
  });
  opened.defer(() => client.close());
  return client;
}
