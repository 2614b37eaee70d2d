import { CloseStack } from "../base/close-stack.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { createTokenManager, GOOGLE_TOKEN_EXCHANGE, readProjectNumber } from "./create-token-manager.ts";
import type { GoogleExchangeOptions } from "./google-exchange.ts";
import { type StsServerOptions, startStsServer } from "./start-sts-server.ts";
import { noTokenManager, type TokenManager } from "./token-manager.ts";

/** What flags and environment say about the token exchange. */
export interface TokenExchangeSettings
  extends Pick<GoogleExchangeOptions, "trustDomain" | "federatedEndpoint" | "credentialsUrl" | "namespaceFromToken"> {
  /** `--stsPort`; 0: no server, the exchange is for the agent's own calls. */
  readonly port: number;
  readonly host: NonNullable<StsServerOptions["host"]>;
  /** `--tokenManagerPlugin` */
  readonly plugin: string;
  /** Who vouches for the subject; "" is the cluster that the platform names. */
  readonly identityProvider: string;
  /** As the operator gives it; absent: the platform's, else that of the metadata server. */
  readonly projectNumber?: string;
  /** "http://host:port" of the metadata server; Google's when absent. */
  readonly metadataUrl?: string;
  /** Google's exchange without a project ends the start; otherwise it is as if there were no plug-in. */
  readonly requiresProject: boolean;
}

export interface TokenExchangeOptions extends TokenExchangeSettings {
  /** The platform's metadata; a rejection counts as no platform. */
  readonly metadata: Promise<Readonly<Record<string, string>>>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface TokenExchange extends Handle {
  readonly manager: TokenManager;
  /** Of the Google project, where the start has waited for it; "" otherwise. */
  readonly projectNumber: string;
}

/** The token exchange for the agent's own calls, and for Envoy's on the port. Rejects when it requires a Google project and there is none. */
export async function startTokenExchange(options: TokenExchangeOptions): Promise<TokenExchange> {
  await using opened = new CloseStack();
  const { manager, projectNumber } = await openManager(options);
  const { port, host } = options;
  const log = options.log.scope("stsserver");
  const server = port > 0 ? opened.add(await startStsServer({ port, host, manager, log })) : undefined;
  const owned = opened.move();
  return toHandle({
    manager,
    projectNumber,
    ended: server?.ended ?? new Promise<void>(() => undefined),
    stop: () => owned.close(),
  });
}

type OpenManager = Pick<TokenExchange, "manager" | "projectNumber">;

async function openManager(options: TokenExchangeOptions): Promise<OpenManager> {
  const opening = createManager(options);
  if (options.requiresProject) return opening;
  // The cloud may not be known yet: requests wait for it, the start does not.
  const ready = opening.then(
    ({ manager }) => manager,
    () => noTokenManager,
  );
  return { projectNumber: "", manager: lateManager(ready) };
}

async function createManager(options: TokenExchangeOptions): Promise<OpenManager> {
  const metadata = await options.metadata.catch((): Readonly<Record<string, string>> => ({}));
  const projectNumber =
    options.plugin === GOOGLE_TOKEN_EXCHANGE ? await findProject(options, metadata.gcp_project_number) : "";
  const manager = createTokenManager(options.plugin, {
    ...options,
    identityProvider: options.identityProvider || (metadata.gcp_gke_cluster_url ?? ""),
    projectNumber,
    log: options.log.scope("token"),
  });
  return { manager, projectNumber };
}

/** Node metadata does not wait long for a cloud; here it decides, so its server is asked once more. */
async function findProject(options: TokenExchangeOptions, known: string | undefined): Promise<string> {
  return known ?? options.projectNumber ?? readProjectNumber(options.metadataUrl, options.signal);
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
