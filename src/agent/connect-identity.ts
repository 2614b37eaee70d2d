import type { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import {
  type CaClient,
  exchangeTokens,
  generateWorkloadKey,
  type IdentityMetrics,
  type SecretManager,
  startCaClient,
  startSecretManager,
  type TokenFetcher,
  withTokenSubject,
  workloadSpiffeId,
} from "../identity/index.ts";
import { connectThroughProxy } from "../net/http-proxy/proxy-route.ts";
import type { ReservedSocket } from "../net/listen/listen.ts";
import { NO_PLATFORM, type PlatformInfo } from "../platform/index.ts";
import { splitHosts } from "../protocol/x509/general-names.ts";
import { machineRoots } from "../protocol/x509/machine-roots.ts";
import { type LegacyToken, type SdsStart, startSdsInBackground } from "../sds/index.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { AgentStartError, step } from "./agent-error.ts";
import type { AgentMetrics } from "./metrics.ts";

export interface IdentityParts {
  readonly opened: CloseStack;
  readonly platform: Promise<PlatformInfo>;
  readonly tokens: TokenFetcher | undefined;
  readonly metrics: AgentMetrics;
  readonly log: Logger;
  readonly sds: SdsStart;
  /** The SDS socket, when it was bound beforehand. */
  readonly reserved: ReservedSocket | undefined;
  /** Ends a bind that is being retried. */
  readonly signal: AbortSignal;
}

/** The workload's certificate, from the CA or from files, and the socket where Envoy asks for it. */
export async function connectIdentity(config: AgentConfig, parts: IdentityParts): Promise<SecretManager> {
  const { opened, metrics, log, sds } = parts;
  log.info("Starting default Istio SDS Server");
  return step("failed to start default Istio SDS server", async () => {
    const secrets = opened.add(await startSecrets(config, parts));
    // Without Envoy there is no SDS client; applications read the files in OUTPUT_CERTS.
    if (!config.agent.disableEnvoy && sds.mode !== "external") {
      const kind = sds.mode === "workload" ? "workload certificates" : "file certificates only";
      log.scope("sds").info("Starting SDS grpc server");
      log.scope("sds").info(`Starting SDS server for ${kind}, will listen on "${sds.listenPath}"`);
      opened.add(
        await startSdsInBackground({
          path: sds.listenPath,
          reserved: parts.reserved,
          source: secrets,
          privateKeyProvider: config.sds.privateKeyProvider,
          ...(config.generation.sds === "legacy" && { legacy: { token: legacyToken(parts.tokens) } }),
          envoyGroup: config.envoy.user?.gid,
          metrics: metrics.sds,
          log: log.scope("sds"),
          signal: parts.signal,
        }),
      );
    }
    return secrets;
  });
}

async function startSecrets(config: AgentConfig, parts: IdentityParts): Promise<SecretManager> {
  const { workload, namesFromToken, certificates, secrets } = config.identity;
  const { log, metrics, sds } = parts;
  const names = namesFromToken ? await withTokenSubject(workload, parts.tokens) : workload;
  if (certificates === "detected") {
    log.info("workload certificate files detected, creating secret manager without caClient");
  }
  const wantsCa = sds.mode === "workload" && certificates === "issued";
  // The key is generated while the CA client reads its roots: an RSA key takes longer than the rest of the start.
  const prepared = wantsCa ? generateWorkloadKey(secrets.key) : undefined;
  prepared?.catch(() => undefined);
  const caClient = wantsCa ? await connectCa(config, { ...parts, metrics: metrics.identity }) : undefined;
  if (certificates !== "issued") log.info("Workload is using file mounted certificates. Skipping connecting to CA");
  return startSecretManager({
    ...secrets,
    caClient,
    hosts: splitHosts(workloadSpiffeId(names)),
    prepareKey: prepared ?? false,
    metrics: metrics.identity,
    log: log.scope("cache"),
  });
}

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
    if (root.isFatal) throw new AgentStartError("fatal-config", root.problem);
    throw new AgentStartError(
      "start-failed",
      `failed to start workload secret manager failed to find root CA cert for CA: ${root.problem}`,
    );
  }
  log.info(`CA Endpoint ${options.endpoint}, provider ${provider}`);
  log.info(`Using CA ${options.endpoint} cert with ${root.path === "" ? "system certs" : `certs: ${root.path}`}`);
  const address = provider === "GoogleCAS" ? (options.serviceAddress ?? "") : options.endpoint;
  const connect = connectThroughProxy(address, config.proxies, machineRoots(options.systemRootFile, log));
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

/** Those generations answer only while the agent itself has a token. */
function legacyToken(tokens: TokenFetcher | undefined): LegacyToken {
  return tokens === undefined ? { kind: "none" } : { kind: "local", read: () => tokens.fetch() };
}

type Bundle = readonly string[];
type BundleOwner = Pick<SecretManager, "setConfigTrustBundle">;

/** Trust anchors that the control plane sends; those that come before their owner wait for it. */
export interface LateBundle {
  /** Throws what the owner throws. */
  set(anchors: Bundle): void;
  attach(owner: BundleOwner): void;
}

export function createLateBundle(log: Logger): LateBundle {
  let owner: BundleOwner | undefined;
  let early: Bundle | undefined;
  return {
    set(anchors) {
      if (owner === undefined) early = anchors;
      else owner.setConfigTrustBundle(anchors);
    },
    attach(found) {
      owner = found;
      if (early === undefined) return;
      try {
        found.setConfigTrustBundle(early);
      } catch (failure) {
        log.error(`trust anchors of the control plane are not used: ${errorMessage(failure)}`);
      }
    },
  };
}
