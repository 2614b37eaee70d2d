export { startCaClient } from "./ca-client/providers.ts";
export type { CaClient } from "./ca-client/types.ts";
export { declareIdentityMetrics, type IdentityMetrics } from "./metrics.ts";
export { type SecretManager, startSecretManager } from "./start-secret-manager.ts";
export { startTokenFetcher } from "./tokens/create-token-fetcher.ts";
export type { TokenFetcher } from "./tokens/token-fetcher.ts";
export { withTokenSubject, workloadSpiffeId } from "./workload-identity.ts";
export { generateWorkloadKey, type WorkloadKeyOptions } from "./workload-key.ts";
