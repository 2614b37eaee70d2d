import type { TokenExchangeOptions } from "./tokens/exchange-token.ts";
import type { TokenFetcher } from "./tokens/token-fetcher.ts";

export type { CaClientOptions } from "./ca-client/ca-client-options.ts";
export { startCaClient } from "./ca-client/providers.ts";
export type { CaClient } from "./ca-client/types.ts";
export { withTokenSubject } from "./compat/token-subject.ts";
export { declareIdentityMetrics, type IdentityMetrics } from "./metrics.ts";
export type { SecretManagerOptions } from "./secret-manager-options.ts";
export { type SecretManager, startSecretManager } from "./start-secret-manager.ts";
export { startTokenFetcher, type TokenFetcherOptions } from "./tokens/create-token-fetcher.ts";
export type { TokenExchangeOptions } from "./tokens/exchange-token.ts";
export type { TokenFetcher } from "./tokens/token-fetcher.ts";
export { type WorkloadNames, workloadSpiffeId } from "./workload-identity.ts";
export { generateWorkloadKey, type WorkloadKeyOptions } from "./workload-key.ts";

/** Loaded with the first use: few CAs accept nothing but federated tokens. */
export async function exchangeTokens(tokens: TokenFetcher, options: TokenExchangeOptions): Promise<TokenFetcher> {
  return (await import("./tokens/exchange-token.ts")).exchangingFetcher(tokens, options);
}
