import type { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { NO_PLATFORM, type PlatformInfo } from "../platform/index.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import {
  createTokenManager,
  GOOGLE_TOKEN_EXCHANGE,
  noTokenManager,
  readProjectNumber,
  type StsServer,
  startStsServer,
  type TokenManager,
} from "../sts/index.ts";
import { AgentStartError, step } from "./agent-error.ts";

/** The token exchange for the agent's own calls, and for Envoy's on `--stsPort` when that is given. */
export async function connectTokenExchange(
  config: AgentConfig,
  parts: TokenManagerParts & { readonly opened: CloseStack },
): Promise<TokenExchange> {
  const exchange = await connectTokenManager(config, parts);
  if (config.security.stsPort > 0) parts.opened.add(await connectSts(config, exchange.manager, parts.log));
  return exchange;
}

/** The port alone. */
async function connectSts(config: AgentConfig, manager: TokenManager, log: Logger): Promise<StsServer> {
  const { security, role } = config;
  return step("failed to start STS server", () =>
    startStsServer({
      port: security.stsPort,
      host: role.isIpv6 ? "::1" : "127.0.0.1",
      manager,
      log: log.scope("stsserver"),
    }),
  );
}

export interface TokenExchange {
  readonly manager: TokenManager;
  /** Of the Google project, where the start has waited for it; "" otherwise. */
  readonly projectNumber: string;
}

interface TokenManagerParts {
  readonly platform: Promise<PlatformInfo>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** For generations with a token exchange. Rejects when this one needs a Google project and there is none. */
async function connectTokenManager(config: AgentConfig, parts: TokenManagerParts): Promise<TokenExchange> {
  const opening = open(config, parts);
  if (!config.generation.requiresGcpProject) {
    // The cloud may not be known yet: requests wait for it, the start does not.
    return {
      projectNumber: "",
      manager: lateManager(
        opening.then(
          ({ manager }) => manager,
          () => noTokenManager,
        ),
      ),
    };
  }
  try {
    return await opening;
  } catch (cause) {
    throw new AgentStartError("start-failed", errorMessage(cause), { cause });
  }
}

async function open(config: AgentConfig, parts: TokenManagerParts): Promise<TokenExchange> {
  const { security } = config;
  const { metadata } = await parts.platform.catch(() => NO_PLATFORM);
  const isGoogle = security.tokenManagerPlugin === GOOGLE_TOKEN_EXCHANGE;
  const projectNumber = isGoogle ? await findProject(config, metadata.gcp_project_number, parts.signal) : "";
  // Up to 1.7 the federated token came from another address and for the trust domain, whatever the subject token said.
  const isOld = config.generation.oldFederatedToken;
  const { credentialFetcher: fetcher, trustDomain, stsEndpoints } = security;
  const provider = fetcher.type === "google-compute-engine" ? fetcher.identityProvider : security.gkeClusterUrl;
  const manager = createTokenManager(security.tokenManagerPlugin, {
    trustDomain,
    identityProvider: provider || (metadata.gcp_gke_cluster_url ?? ""),
    projectNumber,
    ...(stsEndpoints.federated !== "" && { federatedEndpoint: stsEndpoints.federated }),
    ...(stsEndpoints.credentials !== "" && { credentialsUrl: stsEndpoints.credentials }),
    namespaceFromToken: !isOld,
    log: parts.log.scope("token"),
  });
  return { manager, projectNumber };
}

/** Node metadata does not wait long for a cloud; here it decides, so its server is asked once more. */
async function findProject(config: AgentConfig, known: string | undefined, signal: AbortSignal): Promise<string> {
  const { gceMetadataHost, gcpMetadata } = config.platform;
  if (known !== undefined) return known;
  // Said by the operator, also where platforms are not looked for: `PROJECT_ID|NUMBER|CLUSTER|ZONE`.
  if (gcpMetadata !== "") return gcpMetadata.split("|")[1] ?? "";
  return readProjectNumber(gceMetadataHost === "" ? undefined : `http://${gceMetadataHost}`, signal);
}

function lateManager(ready: Promise<TokenManager>): TokenManager {
  let known: TokenManager | undefined;
  void ready.then((manager) => {
    known = manager;
  });
  return {
    exchange: async (request, signal) => (await ready).exchange(request, signal),
    status: () => known?.status() ?? [],
  };
}
