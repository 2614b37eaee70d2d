import type { Logger } from "../base/logger.ts";
import type { TokenFetcherOptions } from "../identity/index.ts";
import type { ConfigProblem } from "../istio-api/config-problem.ts";
import type { EnvReader } from "./env-reader.ts";
import type { GenerationRules } from "./generations.ts";
import { SERVICE_ACCOUNT_TOKEN_PATH, TOKEN_PATH } from "./well-known-paths.ts";

const TYPES: readonly string[] = ["JWT", "GoogleComputeEngine", "Mock"];
const ALLOWED = "JWT, GoogleComputeEngine, Mock or empty";

/** Where the agent's own token comes from. Generations without fetchers read the same file themselves. */
export function readTokenSettings(
  env: EnvReader,
  rules: GenerationRules,
  log: Logger,
  problems: ConfigProblem[],
  trustDomain: string,
): Omit<TokenFetcherOptions, "log"> {
  const tokenPath = readTokenPath(env, rules, log);
  const type = env.string("CREDENTIAL_FETCHER_TYPE") || "JWT";
  if (!TYPES.includes(type)) {
    const message = `failed to create credential fetcher: invalid credential fetcher type ${type}`;
    problems.push({ source: "environment variable CREDENTIAL_FETCHER_TYPE", message, value: type, allowed: ALLOWED });
  } else if (type !== "JWT" || (rules.hasJwtFetcher && tokenPath !== "")) {
    log.info(`using credential fetcher of ${type} type in ${env.string("TRUST_DOMAIN")} trust domain`);
  }
  const metadataHost = env.string("GCE_METADATA_HOST");
  return {
    type,
    tokenPath,
    trustDomain,
    identityProvider: type === "GoogleComputeEngine" ? env.string("CREDENTIAL_IDENTITY_PROVIDER") : "",
    ...(metadataHost !== "" && { metadataUrl: `http://${metadataHost}` }),
  };
}

/** Path of the token file by JWT policy; "" for none. */
function readTokenPath(env: EnvReader, rules: GenerationRules, log: Logger): string {
  const policy = env.string("JWT_POLICY");
  if (policy === "third-party-jwt") {
    log.info("JWT policy is third-party-jwt");
    return TOKEN_PATH;
  }
  if (policy === "first-party-jwt") {
    if (rules.firstPartyJwt === "service-account-token") return SERVICE_ACCOUNT_TOKEN_PATH;
    log.warn("Using deprecated JWT policy 'first-party-jwt'; treating as 'third-party-jwt'");
    return TOKEN_PATH;
  }
  log.info("Using existing certs");
  return rules.unknownJwtPolicyKeepsToken ? TOKEN_PATH : "";
}
