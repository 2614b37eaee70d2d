import type { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import {
  generateWorkloadKey,
  type SecretManager,
  startSecretManager,
  startTokenFetcher,
  type TokenFetcher,
  withTokenSubject,
  workloadSpiffeId,
} from "../identity/index.ts";
import type { ReservedSocket } from "../net/listen/listen.ts";
import type { PlatformInfo } from "../platform/index.ts";
import { splitHosts } from "../protocol/x509/general-names.ts";
import { type LegacyToken, type PrivateKeyProvider, type SdsStart, startSdsInBackground } from "../sds/index.ts";
import { diskFiles } from "../settings/config-files.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { WORKLOAD_CERTS } from "../settings/well-known-paths.ts";
import { AgentStartError, step } from "./agent-error.ts";
import { connectCa } from "./connect-ca.ts";
import type { AgentMetrics } from "./metrics.ts";

const CRL_PATH = "./var/run/secrets/istio/crl/ca-crl.pem";

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
    // Without Envoy nobody asks over SDS; the files in OUTPUT_CERTS are what applications read.
    if (!config.agent.disableEnvoy && sds.mode !== "external") {
      const kind = sds.mode === "workload" ? "workload certificates" : "file certificates only";
      log.scope("sds").info("Starting SDS grpc server");
      log.scope("sds").info(`Starting SDS server for ${kind}, will listen on "${sds.listenPath}"`);
      opened.add(
        await startSdsInBackground({
          path: sds.listenPath,
          reserved: parts.reserved,
          source: secrets,
          privateKeyProvider: privateKeyProvider(config),
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
  const { security } = config;
  const { log, metrics, sds } = parts;
  const { key } = security;
  const identity = config.generation.identityFromToken ? await withTokenSubject(security, parts.tokens) : security;
  const mounted = mountedFiles(config, log);
  const wantsCa = sds.mode === "workload" && !mounted;
  // The key is on its way while the CA client reads its roots: an RSA key takes longer than the rest of the start.
  const prepared = wantsCa ? generateWorkloadKey(key) : undefined;
  prepared?.catch(() => undefined);
  const caClient = wantsCa ? await connectCa(config, { ...parts, metrics: metrics.identity }) : undefined;
  if (mounted) log.info("Workload is using file mounted certificates. Skipping connecting to CA");
  return startSecretManager({
    caClient,
    key,
    pkcs8: security.pkcs8Keys,
    hosts: splitHosts(workloadSpiffeId(identity)),
    ttlSeconds: security.secretTtlMs / 1000,
    renewal: { ratio: security.gracePeriodRatio, jitter: security.gracePeriodJitter },
    ...(prepared === undefined ? { prepareKey: false } : { prepareKey: prepared }),
    existing: existingFiles(config, mounted),
    output: outputDirectory(config),
    fileDebounceMs: security.fileDebounceMs,
    crlPath: security.serveCrl ? CRL_PATH : undefined,
    metrics: metrics.identity,
    log: log.scope("cache"),
  });
}

/** Configured so, or another agent of the platform has put a certificate where workloads look for theirs. */
function mountedFiles(config: AgentConfig, log: Logger): boolean {
  if (config.security.fileMountedCerts) return true;
  if (!Object.values(WORKLOAD_CERTS).every(diskFiles.exists)) return false;
  log.info("workload certificate files detected, creating secret manager without caClient");
  return true;
}

function existingFiles(config: AgentConfig, mounted: boolean) {
  const detected = mounted && !config.security.fileMountedCerts;
  const { chain, key, root } = detected ? WORKLOAD_CERTS : config.security.certificateFiles;
  return { certificateChain: chain, key, root };
}

function outputDirectory({ security }: AgentConfig) {
  if (security.outputCerts === "") return undefined;
  return { directory: security.outputCerts, readableByAll: (security.outputMode & 0o004) !== 0, reuse: true };
}

function privateKeyProvider({ proxyConfig }: AgentConfig): PrivateKeyProvider | undefined {
  const { cryptomb, qat } = proxyConfig.privateKeyProvider ?? {};
  const chosen = cryptomb ?? qat;
  if (chosen === undefined) return undefined;
  const seconds = Number.parseFloat(chosen.pollDelay ?? "0s");
  if (Number.isNaN(seconds)) throw new AgentStartError("start-failed", `pollDelay ${chosen.pollDelay} is no duration`);
  const whole = Math.trunc(seconds);
  return {
    name: cryptomb === undefined ? "qat" : "cryptomb",
    pollDelay: { seconds: whole, nanos: Math.round((seconds - whole) * 1e9) },
    fallback: chosen.fallback ?? false,
  };
}

/** Those generations answer only while the agent itself has a token. */
function legacyToken(tokens: TokenFetcher | undefined): LegacyToken {
  return tokens === undefined ? { kind: "none" } : { kind: "local", read: () => tokens.fetch() };
}

type Bundle = readonly string[];
type BundleOwner = Pick<SecretManager, "setConfigTrustBundle">;

/** Trust anchors that the control plane sends; those that come before their owner are kept for it. */
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
