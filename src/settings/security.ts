import { deepFreeze } from "../base/deep-freeze.ts";
import { quoteGo } from "../base/go-quote.ts";
import type { Logger } from "../base/logger.ts";
import type { WorkloadKeyOptions } from "../identity/index.ts";
import type { ConfigProblem } from "../istio-api/config-problem.ts";
import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import { ConfigError } from "./config-error.ts";
import { type CredentialFetcher, readCredentialFetcher, readTokenPath } from "./credential-fetcher.ts";
import type { EnvReader } from "./env-reader.ts";
import type { GenerationRules } from "./generations.ts";
import type { ProxyFlags } from "./proxy-flags.ts";
import { type CertificateFiles, GKE_WORKLOAD_CERTS, MOUNTED_CERTS } from "./well-known-paths.ts";

export interface SecurityConfig {
  readonly caEndpoint: string;
  /** TLS server name of the CA; "" takes the endpoint's host. */
  readonly caServerName: string;
  readonly caProvider: string;
  readonly caRootCa: string;
  readonly caHeaders: Readonly<Record<string, string>>;
  readonly pilotCertProvider: string;
  /** The cluster's own CA signs for control plane and CA. */
  readonly usesKubernetesRoots: boolean;
  /** The CA accepts federated tokens only: the workload's is exchanged for every request. */
  readonly exchangesCaTokens: boolean;
  readonly provCert: string;
  readonly outputCerts: string;
  /** In a cluster the files are for other containers of the pod. */
  readonly outputMode: number;
  /** No CA client: certificates come from the files below. */
  readonly fileMountedCerts: boolean;
  readonly certificateFiles: CertificateFiles;
  /** "" when the policy has no token. */
  readonly tokenPath: string;
  readonly credentialFetcher: CredentialFetcher;
  readonly trustDomain: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly clusterId: string;
  readonly certSigner: string;
  /** Requested; the CA may give less. */
  readonly secretTtlMs: number;
  /** Part of the lifetime left at renewal, spread by the jitter. */
  readonly gracePeriodRatio: number;
  readonly gracePeriodJitter: number;
  readonly fileDebounceMs: number;
  readonly key: WorkloadKeyOptions;
  readonly pkcs8Keys: boolean;
  /** Bare file name in the workload socket directory. */
  readonly socketFile: string;
  readonly serveCrl: boolean;
  readonly compliancePolicy: string;
  readonly xdsAuthProvider: string;
  readonly tokenAudiences: readonly string[];
  /** 0 is none. */
  readonly stsPort: number;
  readonly tokenManagerPlugin: string;
  /** The JWT instead of mutual TLS towards istiod. */
  readonly callCredentials: boolean;
  readonly requireExternalSds: boolean;
  readonly gkeClusterUrl: string;
  /** Where the two steps of a token exchange go; "" is Google. */
  readonly stsEndpoints: { readonly federated: string; readonly credentials: string };
}

export interface SecuritySources {
  readonly env: EnvReader;
  readonly flags: ProxyFlags;
  readonly rules: GenerationRules;
  readonly proxyConfig: ProxyConfig;
  readonly exists: (path: string) => boolean;
  readonly log: Logger;
}

const OLD_FEDERATED_ENDPOINT = "https://securetoken.googleapis.com/v1/identitybindingtoken";
const COMPLIANCE_POLICIES = ["", "fips-140-2", "fips-140-3", "pqc"];

/** Throws with every contradiction at once. */
export function readSecurityConfig(sources: SecuritySources): SecurityConfig {
  const { env, flags, rules, proxyConfig, log } = sources;
  const problems: ConfigProblem[] = [];
  const tokenPath = readTokenPath(env, rules, log);
  const caEndpoint = env.string("CA_ADDR") === "" ? (proxyConfig.discoveryAddress ?? "") : env.string("CA_ADDR");
  const credentialFetcher = readCredentialFetcher(env, tokenPath, rules, log, problems);
  const certificates = readCertificates(sources, problems);
  const [first] = problems;
  if (first !== undefined) {
    throw new ConfigError(
      "invalid-security-options",
      [first.message, ...problems.slice(1).map((other) => `also: ${other.message}`)].join("\n"),
      problems,
    );
  }
  const compliancePolicy = env.string("COMPLIANCE_POLICY");
  if (!COMPLIANCE_POLICIES.includes(compliancePolicy))
    log.warn(`unknown compliance policy: ${quoteGo(compliancePolicy)}`);
  if (flags.stsPort > 0 && flags.tokenManagerPlugin === "") {
    log.warn(
      `--stsPort ${flags.stsPort}: no --tokenManagerPlugin is given (allowed: GoogleTokenExchange), every token request is refused`,
    );
  }
  const plugins = env.string("PLUGINS").split(",");
  const unknown = plugins.filter((name) => name !== "" && name !== "GoogleTokenExchange");
  if (unknown.length > 0) log.warn(`PLUGINS: ${unknown.join(",")} has no effect, allowed is GoogleTokenExchange`);
  const provider = caProvider(env.string("CA_PROVIDER"), caEndpoint);
  return deepFreeze({
    ...certificates,
    caEndpoint,
    caServerName: rules.caServerNameFromIstiodSan && env.string("CA_ADDR") === "" ? env.string("ISTIOD_SAN") : "",
    caProvider: provider,
    exchangesCaTokens: isGoogleCa(provider) || plugins.includes("GoogleTokenExchange"),
    caRootCa: env.string("CA_ROOT_CA"),
    caHeaders: env.withPrefix("CA_HEADER_"),
    pilotCertProvider: env.string("PILOT_CERT_PROVIDER"),
    usesKubernetesRoots: rules.hasKubernetesRoots && env.string("PILOT_CERT_PROVIDER") === "kubernetes",
    provCert: env.string("PROV_CERT"),
    outputCerts: env.string("OUTPUT_CERTS"),
    outputMode: env.string("KUBERNETES_SERVICE_HOST") === "" ? 0o600 : 0o644,
    tokenPath,
    credentialFetcher,
    trustDomain: (rules.hasRegistryFlags && flags.trustDomain) || env.string("TRUST_DOMAIN"),
    namespace: env.string("POD_NAMESPACE"),
    serviceAccount: env.string("SERVICE_ACCOUNT"),
    clusterId: env.string("ISTIO_META_CLUSTER_ID"),
    certSigner: env.string("ISTIO_META_CERT_SIGNER"),
    secretTtlMs: env.durationMs("SECRET_TTL"),
    gracePeriodRatio: env.float("SECRET_GRACE_PERIOD_RATIO"),
    gracePeriodJitter: env.applies("SECRET_GRACE_PERIOD_RATIO_JITTER")
      ? env.float("SECRET_GRACE_PERIOD_RATIO_JITTER")
      : 0,
    fileDebounceMs: env.durationMs("FILE_DEBOUNCE_DURATION"),
    key: readKey(env),
    pkcs8Keys: env.bool("PKCS8_KEY"),
    socketFile: env.string("WORKLOAD_IDENTITY_SOCKET_FILE"),
    serveCrl: env.applies("PILOT_ENABLE_CA_CRL") && env.bool("PILOT_ENABLE_CA_CRL"),
    compliancePolicy,
    xdsAuthProvider: rules.exchangesXdsTokens ? env.string("XDS_AUTH_PROVIDER") : "",
    tokenAudiences: env.string("TOKEN_AUDIENCES").split(","),
    stsPort: flags.stsPort,
    tokenManagerPlugin: flags.tokenManagerPlugin,
    callCredentials: env.bool("CALL_CREDENTIALS"),
    requireExternalSds: env.bool("USE_EXTERNAL_WORKLOAD_SDS"),
    gkeClusterUrl: env.string("GKE_CLUSTER_URL"),
    stsEndpoints: {
      federated: env.string("STS_FEDERATED_TOKEN_ENDPOINT") || (rules.oldFederatedToken ? OLD_FEDERATED_ENDPOINT : ""),
      credentials: env.string("STS_CREDENTIALS_URL"),
    },
  });
}

function readKey(env: EnvReader): WorkloadKeyOptions {
  const bits = env.int("WORKLOAD_RSA_KEY_SIZE");
  const algorithm = env.string("ECC_SIGNATURE_ALGORITHM");
  if (algorithm === "") return { type: "rsa", bits };
  if (algorithm !== "ECDSA") return { type: "unsupported-ec-algorithm" };
  return { type: "ecdsa", curve: env.string("ECC_CURVE") === "P384" ? "P384" : "P256" };
}

/** Google's endpoints speak Google's protocol whatever the variable says. */
function caProvider(configured: string, endpoint: string): string {
  return configured !== "GkeWorkloadCertificate" && endpoint.includes("googleapis.com") ? "GoogleCA" : configured;
}

/** Google's CAs have certificates that the system trusts, and accept federated tokens only. */
export function isGoogleCa(provider: string): boolean {
  return provider === "GoogleCA" || provider === "GoogleCAS";
}

function readCertificates(
  { env, exists }: SecuritySources,
  problems: ConfigProblem[],
): Pick<SecurityConfig, "fileMountedCerts" | "certificateFiles"> {
  const provCert = env.string("PROV_CERT");
  const mounted = env.bool("FILE_MOUNTED_CERTS");
  if (env.string("CA_PROVIDER") === "GkeWorkloadCertificate") {
    const { chain, key, root } = GKE_WORKLOAD_CERTS;
    if (![chain, key, root].every(exists)) {
      const message = `GKE workload certificate files (${chain}, ${key}, ${root}) not present`;
      problems.push({ source: "environment variable CA_PROVIDER", message, value: "GkeWorkloadCertificate" });
    }
    if (provCert !== "")
      problems.push(
        exclusive("PROV_CERT and FILE_MOUNTED_CERTS of GKE workload cert are mutually exclusive", provCert),
      );
    return { fileMountedCerts: true, certificateFiles: GKE_WORKLOAD_CERTS };
  }
  if (provCert !== "" && mounted)
    problems.push(exclusive("PROV_CERT and FILE_MOUNTED_CERTS are mutually exclusive", provCert));
  return { fileMountedCerts: mounted, certificateFiles: MOUNTED_CERTS };
}

/** Both ways to provide certificates at once: whichever won would surprise. */
function exclusive(reason: string, value: string): ConfigProblem {
  return { source: "environment variable PROV_CERT", message: `invalid options: ${reason}`, value };
}
