import type { CloseStack } from "../base/close-stack.ts";
import type { Logger } from "../base/logger.ts";
import { generateWorkloadKey, type SecretManager, startSecretManager, type TokenFetcher } from "../identity/index.ts";
import type { ReservedSocket } from "../net/listen/listen.ts";
import { splitHosts } from "../protocol/x509/general-names.ts";
import type { LegacyToken, PrivateKeyProvider, SdsStart } from "../sds/index.ts";
import { diskFiles } from "../settings/config-files.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { WORKLOAD_CERTS } from "../settings/well-known-paths.ts";
import { AgentStartError, step } from "./agent-error.ts";
import { connectCa } from "./connect-ca.ts";
import { connectSds } from "./connect-sds.ts";
import { isLegacySds } from "./decide-sds.ts";
import type { AgentMetrics } from "./metrics.ts";
import { proxyUser } from "./proxy-user.ts";
import { withTokenSubject, workloadKeyOptions, workloadSpiffeId } from "./workload-identity.ts";

const CRL_PATH = "./var/run/secrets/istio/crl/ca-crl.pem";

export interface IdentityParts {
  readonly opened: CloseStack;
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
    if (!config.envoy.disabled && sds.mode !== "external") {
      const kind = sds.mode === "workload" ? "workload certificates" : "file certificates only";
      log.scope("sds").info("Starting SDS grpc server");
      log.scope("sds").info(`Starting SDS server for ${kind}, will listen on "${sds.listenPath}"`);
      opened.add(
        await connectSds({
          path: sds.listenPath,
          reserved: parts.reserved,
          source: secrets,
          privateKeyProvider: privateKeyProvider(config),
          ...(isLegacySds(config) && { legacy: { token: legacyToken(parts.tokens) } }),
          envoyGroup: proxyUser(config)?.gid,
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
  const key = workloadKeyOptions(security);
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
