import type { Logger } from "../base/logger.ts";
import type { AgentConfig, PlatformInfo } from "../config/index.ts";
import { createTokenManager, type StsServer, startStsServer, type TokenManager } from "../sts/index.ts";
import { step } from "./agent-error.ts";

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
function tokenManager({ security }: AgentConfig, platform: Promise<PlatformInfo>, log: Logger): TokenManager {
  const { credentialFetcher: fetcher, trustDomain, stsEndpoints } = security;
  const provider = fetcher.type === "google-compute-engine" ? fetcher.identityProvider : security.gkeClusterUrl;
  const ready = platform.then(({ metadata }) =>
    createTokenManager(security.tokenManagerPlugin, {
      trustDomain,
      identityProvider: provider || (metadata.gcp_gke_cluster_url ?? ""),
      projectNumber: metadata.gcp_project_number ?? "",
      ...(stsEndpoints.federated !== "" && { federatedEndpoint: stsEndpoints.federated }),
      ...(stsEndpoints.credentials !== "" && { credentialsUrl: stsEndpoints.credentials }),
      log,
    }),
  );
  let known: TokenManager | undefined;
  void ready.then((manager) => {
    known = manager;
  });
  return {
    exchange: async (request, signal) => (await ready).exchange(request, signal),
    status: () => known?.status() ?? [],
  };
}
