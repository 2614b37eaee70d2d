import type { Logger } from "../base/logger.ts";
import type { AgentConfig, PlatformInfo } from "../config/index.ts";
import { createTokenManager, type StsServer, startStsServer, type TokenManager } from "../sts/index.ts";
import { step } from "./agent-error.ts";

const OLD_FEDERATED_ENDPOINT = "https://securetoken.googleapis.com/v1/identitybindingtoken";

/** The token exchange server, for generations that have one when `--stsPort` is given. */
export async function connectSts(
  config: AgentConfig,
  platform: Promise<PlatformInfo>,
  log: Logger,
): Promise<StsServer> {
  const { security, status } = config;
  return step("failed to start STS server", () =>
    startStsServer({
      port: security.stsPort,
      host: status.isIpv6 ? "::1" : "127.0.0.1",
      manager: tokenManager(config, platform, log.scope("stsserver")),
      log: log.scope("stsserver"),
    }),
  );
}

/** The project's number comes from the platform, which may not be known yet when the port is opened. */
function tokenManager(config: AgentConfig, platform: Promise<PlatformInfo>, log: Logger): TokenManager {
  const { security } = config;
  // Up to 1.7 the federated token came from another address and for the trust domain, whatever the subject token said.
  const isOld = config.generation.hasRegistryFlags;
  const { credentialFetcher: fetcher, trustDomain, stsEndpoints } = security;
  const federatedEndpoint = stsEndpoints.federated || (isOld ? OLD_FEDERATED_ENDPOINT : "");
  const provider = fetcher.type === "google-compute-engine" ? fetcher.identityProvider : security.gkeClusterUrl;
  const ready = platform.then(({ metadata }) =>
    createTokenManager(security.tokenManagerPlugin, {
      trustDomain,
      identityProvider: provider || (metadata.gcp_gke_cluster_url ?? ""),
      projectNumber: metadata.gcp_project_number ?? "",
      ...(federatedEndpoint !== "" && { federatedEndpoint }),
      ...(stsEndpoints.credentials !== "" && { credentialsUrl: stsEndpoints.credentials }),
      namespaceFromToken: !isOld,
      log,
    }),
  );
  let known: TokenManager | undefined;
  ready.then(
    (manager) => {
      known = manager;
    },
    () => undefined, // whoever asks for a token is told
  );
  return {
    exchange: async (request, signal) => (await ready).exchange(request, signal),
    status: () => known?.status() ?? [],
  };
}
