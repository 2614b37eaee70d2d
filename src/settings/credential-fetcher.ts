import type { Logger } from "../base/logger.ts";
import type { ConfigProblem } from "../istio-api/config-problem.ts";
import type { EnvReader } from "./env-reader.ts";
import type { GenerationRules } from "./generations.ts";
import { SERVICE_ACCOUNT_TOKEN_PATH, TOKEN_PATH } from "./well-known-paths.ts";

/** Where the agent's own token comes from. */
export type CredentialFetcher =
  | { readonly type: "none" }
  /** Read and trimmed at every use. */
  | { readonly type: "file"; readonly path: string }
  /** From the metadata server, kept fresh in the file. */
  | {
      readonly type: "google-compute-engine";
      readonly path: string;
      readonly audience: string;
      readonly identityProvider: string;
    }
  | { readonly type: "mock" };

const ALLOWED = "JWT, GoogleComputeEngine, Mock or empty";

/** Path of the token file by JWT policy; "" for none. */
export function readTokenPath(env: EnvReader, rules: GenerationRules, log: Logger): string {
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

export function readCredentialFetcher(
  env: EnvReader,
  tokenPath: string,
  rules: GenerationRules,
  log: Logger,
  problems: ConfigProblem[],
): CredentialFetcher {
  const type = env.string("CREDENTIAL_FETCHER_TYPE");
  const trustDomain = env.string("TRUST_DOMAIN");
  const fetcher = chooseFetcher(type, env, tokenPath, rules);
  if (fetcher === undefined) {
    const message = `failed to create credential fetcher: invalid credential fetcher type ${type}`;
    problems.push({ source: "environment variable CREDENTIAL_FETCHER_TYPE", message, value: type, allowed: ALLOWED });
    return { type: "none" };
  }
  if (fetcher.type !== "none")
    log.info(`using credential fetcher of ${type === "" ? "JWT" : type} type in ${trustDomain} trust domain`);
  return fetcher;
}

/** undefined for a type nobody knows. */
function chooseFetcher(
  type: string,
  env: EnvReader,
  path: string,
  rules: GenerationRules,
): CredentialFetcher | undefined {
  switch (type) {
    case "":
    case "JWT":
      return rules.hasJwtFetcher && path !== "" ? { type: "file", path } : { type: "none" };
    case "GoogleComputeEngine":
      return {
        type: "google-compute-engine",
        path,
        audience: env.string("TRUST_DOMAIN"),
        identityProvider: env.string("CREDENTIAL_IDENTITY_PROVIDER"),
      };
    case "Mock":
      return { type: "mock" };
    default:
      return undefined;
  }
}
