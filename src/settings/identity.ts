import { posix } from "node:path";
import { quoteGo } from "../base/go-quote.ts";
import type { Logger } from "../base/logger.ts";
import type {
  CaClientOptions,
  SecretManagerOptions,
  TokenExchangeOptions,
  TokenFetcherOptions,
  WorkloadKeyOptions,
  WorkloadNames,
} from "../identity/index.ts";
import type { ConfigProblem } from "../istio-api/config-problem.ts";
import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import { type CertificateSources, readCertificateSources } from "./certificate-sources.ts";
import { ConfigError } from "./config-error.ts";
import { readTokenSettings } from "./credential-fetcher.ts";
import type { EnvReader } from "./env-reader.ts";
import type { GenerationRules } from "./generations.ts";
import type { ProxyFlags } from "./proxy-flags.ts";
import { caRootCa, isGoogleCa, type RootCa, systemRootCa } from "./root-ca.ts";
import { readFederatedEndpoint } from "./sts.ts";
import { WORKLOAD_CERTS } from "./well-known-paths.ts";
import { upstreamKeepalive } from "./xds.ts";

const CRL_PATH = "./var/run/secrets/istio/crl/ca-crl.pem";
const COMPLIANCE_POLICIES = ["", "fips-140-2", "fips-140-3", "pqc"];

/** The options of the secret manager, of its CA client and of the agent's own token. */
export interface IdentitySettings {
  readonly workload: WorkloadNames;
  /** The token's subject names the workload where no variable does. */
  readonly namesFromToken: boolean;
  /** `issued` by the CA, or in files: configured so, or put by another agent of the platform where workloads look for theirs. */
  readonly certificates: "issued" | "mounted" | "detected";
  readonly secrets: Pick<
    SecretManagerOptions,
    "key" | "pkcs8" | "ttlSeconds" | "renewal" | "existing" | "output" | "fileDebounceMs" | "crlPath"
  >;
  readonly tokens: Omit<TokenFetcherOptions, "log">;
  readonly ca: CaClientSettings;
}

export interface CaClientSettings {
  readonly provider: string;
  readonly options: Omit<CaClientOptions, "rootFile" | "tokens" | "connect" | "retries" | "log">;
  readonly root: { readonly path: string } | { readonly problem: string; readonly isFatal: boolean };
  /** The root certificate that PROV_CERT promises, when it is missing. */
  readonly missingMachineRoot: string | undefined;
  /** The CA accepts federated tokens only: the workload's is exchanged for every request. */
  readonly exchange:
    | (Pick<TokenExchangeOptions, "trustDomain" | "endpoint"> & { readonly identityProvider: string })
    | undefined;
}

export interface IdentitySources {
  readonly env: EnvReader;
  readonly flags: ProxyFlags;
  readonly rules: GenerationRules;
  readonly proxyConfig: ProxyConfig;
  readonly exists: (path: string) => boolean;
  readonly log: Logger;
}

/** Throws with every contradiction at once. */
export function readIdentitySettings(
  all: IdentitySources,
): IdentitySettings & { readonly sources: CertificateSources } {
  const { env, rules, exists, log } = all;
  const problems: ConfigProblem[] = [];
  const trustDomain = readTrustDomain(env, rules, all.flags);
  const tokens = readTokenSettings(env, rules, log, problems, trustDomain);
  const sources = readCertificateSources(env, rules, exists, problems);
  const [first] = problems;
  if (first !== undefined) {
    throw new ConfigError(
      "invalid-security-options",
      [first.message, ...problems.slice(1).map((other) => `also: ${other.message}`)].join("\n"),
      problems,
    );
  }
  const isDetected = !sources.fileMountedCerts && Object.values(WORKLOAD_CERTS).every(exists);
  const { chain, key, root } = isDetected ? WORKLOAD_CERTS : sources.certificateFiles;
  const hasCrl = env.applies("PILOT_ENABLE_CA_CRL") && env.bool("PILOT_ENABLE_CA_CRL");
  return {
    sources,
    workload: { trustDomain, namespace: env.string("POD_NAMESPACE"), serviceAccount: env.string("SERVICE_ACCOUNT") },
    namesFromToken: rules.identityFromToken,
    certificates: sources.fileMountedCerts ? "mounted" : isDetected ? "detected" : "issued",
    secrets: {
      key: readKey(env),
      pkcs8: env.bool("PKCS8_KEY"),
      ttlSeconds: env.durationMs("SECRET_TTL") / 1000,
      renewal: {
        ratio: env.float("SECRET_GRACE_PERIOD_RATIO"),
        jitter: env.applies("SECRET_GRACE_PERIOD_RATIO_JITTER") ? env.float("SECRET_GRACE_PERIOD_RATIO_JITTER") : 0,
      },
      existing: { certificateChain: chain, key, root },
      output: readOutput(env),
      fileDebounceMs: env.durationMs("FILE_DEBOUNCE_DURATION"),
      crlPath: hasCrl ? CRL_PATH : undefined,
    },
    tokens,
    ca: readCaClientSettings(all, sources, tokens),
  };
}

function readCaClientSettings(
  { env, rules, proxyConfig, exists, log }: IdentitySources,
  sources: CertificateSources,
  tokens: IdentitySettings["tokens"],
): CaClientSettings {
  const { provCert, pilotCertProvider } = sources;
  const given = env.string("CA_ADDR");
  const named = given === "" ? (proxyConfig.discoveryAddress ?? "") : given;
  const provider = caProvider(env.string("CA_PROVIDER"), named);
  const configured = env.string("CA_ROOT_CA");
  const found: RootCa = named.endsWith(":15010") ? { path: "" } : caRootCa({ configured, provider, sources }, exists);
  const { endpoint, root } =
    "problem" in found
      ? withoutRoot(named, found.problem, { given, rules, proxyConfig })
      : { endpoint: named, root: found };
  const needsMachineRoot = provCert !== "" && configured === "" && pilotCertProvider !== "custom";
  const clusterUrl = env.string("GKE_CLUSTER_URL");
  const federated = readFederatedEndpoint(env, rules);
  return {
    provider,
    root,
    missingMachineRoot: needsMachineRoot && "problem" in found ? posix.join(provCert, "root-cert.pem") : undefined,
    options: {
      endpoint,
      serviceAddress: env.string("GOOGLE_CAS_ADDR"),
      serverName: (rules.caServerNameFromIstiodSan && given === "" && env.string("ISTIOD_SAN")) || undefined,
      systemRootFile: systemRootCa(exists),
      clientCertificateDirectory: provCert === "" ? undefined : provCert,
      clusterId: env.string("ISTIO_META_CLUSTER_ID"),
      certSigner: env.string("ISTIO_META_CERT_SIGNER"),
      clusterUrl,
      headers: env.withPrefix("CA_HEADER_"),
      compliancePolicy: readCompliancePolicy(env, log),
      keepalive: upstreamKeepalive(env),
    },
    exchange: exchangesTokens(env, provider, log)
      ? {
          trustDomain: tokens.trustDomain,
          identityProvider: clusterUrl,
          ...(federated !== "" && { endpoint: federated }),
        }
      : undefined,
  };
}

const PLAINTEXT_CA = "istiod.istio-system.svc:15010";

/** Up to 1.7 a CA that is not named is asked in plaintext where nothing could verify it. */
function withoutRoot(
  named: string,
  problem: string,
  { given, rules, proxyConfig }: Pick<IdentitySources, "rules" | "proxyConfig"> & { readonly given: string },
): { readonly endpoint: string; readonly root: CaClientSettings["root"] } {
  if (!rules.hasPlainCaFallback) return { endpoint: named, root: { problem, isFatal: false } };
  if (given === "") return { endpoint: PLAINTEXT_CA, root: { path: "" } };
  if (proxyConfig.controlPlaneAuthPolicy !== "MUTUAL_TLS") return { endpoint: named, root: { path: "" } };
  return {
    endpoint: named,
    root: { problem: "invalid config - port 15012 missing a root certificate", isFatal: true },
  };
}

/** In a cluster the files are for other containers of the pod. */
function readOutput(env: EnvReader): SecretManagerOptions["output"] {
  const directory = env.string("OUTPUT_CERTS");
  if (directory === "") return undefined;
  return { directory, readableByAll: env.string("KUBERNETES_SERVICE_HOST") !== "", reuse: true };
}

function readTrustDomain(env: EnvReader, rules: GenerationRules, flags: ProxyFlags): string {
  return (rules.hasRegistryFlags && flags.trustDomain) || env.string("TRUST_DOMAIN");
}

function readCompliancePolicy(env: EnvReader, log: Logger): string {
  const policy = env.string("COMPLIANCE_POLICY");
  if (!COMPLIANCE_POLICIES.includes(policy)) log.warn(`unknown compliance policy: ${quoteGo(policy)}`);
  return policy;
}

function exchangesTokens(env: EnvReader, provider: string, log: Logger): boolean {
  const plugins = env.string("PLUGINS").split(",");
  const unknown = plugins.filter((name) => name !== "" && name !== "GoogleTokenExchange");
  if (unknown.length > 0) log.warn(`PLUGINS: ${unknown.join(",")} has no effect, allowed is GoogleTokenExchange`);
  return isGoogleCa(provider) || plugins.includes("GoogleTokenExchange");
}

function readKey(env: EnvReader): WorkloadKeyOptions {
  const bits = env.int("WORKLOAD_RSA_KEY_SIZE");
  const algorithm = env.string("ECC_SIGNATURE_ALGORITHM");
  if (algorithm === "") return { type: "rsa", bits };
  if (algorithm !== "ECDSA") return { type: "unsupported-ec-algorithm" };
  return { type: "ecdsa", curve: env.string("ECC_CURVE") === "P384" ? "P384" : "P256" };
}

/** Google's endpoints speak Google's protocol, also where the variable names another one. */
function caProvider(configured: string, endpoint: string): string {
  return configured !== "GkeWorkloadCertificate" && endpoint.includes("googleapis.com") ? "GoogleCA" : configured;
}
