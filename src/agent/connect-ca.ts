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
import { NO_PLATFORM, type PlatformInfo } from "../platform/index.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
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
  const { provider, root, options } = config.identity.ca;
  const { opened, metrics, log } = parts;
  const tokens = await federated(config, parts);
  if ("problem" in root) {
    throw new AgentStartError(
      "start-failed",
      `failed to start workload secret manager failed to find root CA cert for CA: ${root.problem}`,
    );
  }
  log.info(`CA Endpoint ${options.endpoint}, provider ${provider}`);
  log.info(`Using CA ${options.endpoint} cert with ${root.path === "" ? "system certs" : `certs: ${root.path}`}`);
  const connect = connectThroughProxy(options.endpoint, config.proxies);
  if (connect !== undefined) log.info("the CA is reached through the proxy of HTTPS_PROXY");
  const client = await startCaClient(provider, {
    ...options,
    rootFile: root.path,
    tokens,
    connect,
    retries: metrics.outgoingRetries,
    log: log.scope(SCOPES.get(provider) ?? "citadelclient"),
  }).catch((cause: unknown) => {
    const reason = errorMessage(cause);
    throw new AgentStartError("start-failed", `failed to start workload secret manager ${reason}`, { cause });
  });
  opened.defer(() => client.close());
  return client;
}

/** The workload's tokens, each exchanged for a federated one where the CA accepts no others. */
async function federated(config: AgentConfig, parts: CaParts): Promise<TokenFetcher | undefined> {
  const { exchange } = config.identity.ca;
  const { tokens, platform, metrics, log } = parts;
  if (exchange === undefined || tokens === undefined) return tokens;
  const known = tokens.identityProvider || exchange.identityProvider;
  return exchangeTokens(tokens, {
    ...exchange,
    // The cloud may not be known yet; the first token is asked for later.
    identityProvider: async () =>
      known || ((await platform.catch(() => NO_PLATFORM)).metadata.gcp_gke_cluster_url ?? ""),
    retries: metrics.outgoingRetries,
    log: log.scope("stsclient"),
  });
}

/** A machine's own root certificate, which its CA client needs, is checked first: before the xDS proxy, which reads it as well. */
export function requireMachineRoot({ identity }: AgentConfig): void {
  const { missingMachineRoot, options } = identity.ca;
  if (missingMachineRoot === undefined) return;
  const text = `invalid config - ${options.endpoint} missing a root certificate ${missingMachineRoot}`;
  throw new AgentStartError("fatal-config", text);
}
