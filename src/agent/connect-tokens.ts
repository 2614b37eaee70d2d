import type { Logger } from "../base/logger.ts";
import { startTokenFetcher, type TokenFetcher } from "../identity/index.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";

/** Where the agent's own token comes from; undefined when there is none. */
export function connectTokens(config: AgentConfig, log: Logger): TokenFetcher | undefined {
  const { credentialFetcher: fetcher, trustDomain, tokenPath } = config.security;
  // Generations without fetchers read the same file themselves; without a path there is no token either way.
  const type = { none: "JWT", file: "JWT", "google-compute-engine": "GoogleComputeEngine", mock: "Mock" }[fetcher.type];
  const identityProvider = fetcher.type === "google-compute-engine" ? fetcher.identityProvider : "";
  const { gceMetadataHost } = config.platform;
  return startTokenFetcher({
    type,
    tokenPath,
    trustDomain,
    identityProvider,
    ...(gceMetadataHost === "" ? {} : { metadataUrl: `http://${gceMetadataHost}` }),
    log,
  });
}
