import type { Logger } from "../base/logger.ts";
import type { TokenExchangeSettings } from "../sts/index.ts";
import type { EnvReader } from "./env-reader.ts";
import type { GenerationRules } from "./generations.ts";
import type { ProxyFlags } from "./proxy-flags.ts";
import type { ProxyRole } from "./role/read-role.ts";

const OLD_FEDERATED_ENDPOINT = "https://securetoken.googleapis.com/v1/identitybindingtoken";

export interface StsSources {
  readonly env: EnvReader;
  readonly flags: ProxyFlags;
  readonly role: Pick<ProxyRole, "isIpv6">;
  readonly rules: GenerationRules;
  /** Of the agent's own token. */
  readonly tokens: { readonly trustDomain: string; readonly identityProvider: string };
  readonly log: Logger;
}

/** Undefined when neither Envoy nor the agent exchanges tokens. */
export function readStsSettings({
  env,
  flags,
  role,
  rules,
  tokens,
  log,
}: StsSources): TokenExchangeSettings | undefined {
  const { stsPort: port, tokenManagerPlugin: plugin } = flags;
  if (port > 0 && plugin === "") {
    log.warn(
      `--stsPort ${port}: no --tokenManagerPlugin is given (allowed: GoogleTokenExchange), every token request is refused`,
    );
  }
  if (port <= 0 && (!rules.exchangesXdsTokens || env.string("XDS_AUTH_PROVIDER") === "")) return undefined;
  const metadataHost = env.string("GCE_METADATA_HOST");
  // `PROJECT_ID|NUMBER|CLUSTER|ZONE`; holds also where platforms are not looked for.
  const metadata = env.string("GCP_METADATA");
  const federated = readFederatedEndpoint(env, rules);
  const credentials = env.string("STS_CREDENTIALS_URL");
  return {
    port,
    host: role.isIpv6 ? "::1" : "127.0.0.1",
    plugin,
    trustDomain: tokens.trustDomain,
    identityProvider: tokens.identityProvider || env.string("GKE_CLUSTER_URL"),
    ...(metadata !== "" && { projectNumber: metadata.split("|")[1] ?? "" }),
    ...(metadataHost !== "" && { metadataUrl: `http://${metadataHost}` }),
    ...(federated !== "" && { federatedEndpoint: federated }),
    ...(credentials !== "" && { credentialsUrl: credentials }),
    namespaceFromToken: !rules.oldFederatedToken,
    requiresProject: rules.requiresGcpProject,
  };
}

/** Where federated tokens come from; "" is Google's current endpoint. */
export function readFederatedEndpoint(env: EnvReader, rules: GenerationRules): string {
  return env.string("STS_FEDERATED_TOKEN_ENDPOINT") || (rules.oldFederatedToken ? OLD_FEDERATED_ENDPOINT : "");
}
