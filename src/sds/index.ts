export type { PrivateKeyProvider } from "./core/encode-secret.ts";
export { decideSdsStart, type SdsStart, type SdsStartOptions } from "./decide-start.ts";
export {
  createGatewaySecrets,
  type GatewaySecrets,
  type GatewaySecretsOptions,
} from "./gateway/create-gateway-secrets.ts";
export { getSecret, type KubernetesAccess, KubernetesError } from "./gateway/kubernetes-api.ts";
export type { KubernetesSecret } from "./gateway/kubernetes-secret.ts";
export { type WatchSecretsOptions, watchSecrets } from "./gateway/watch-secrets.ts";
export { declareLegacySdsMetrics, type LegacySdsMetrics } from "./legacy/legacy-metrics.ts";
export type { LegacyToken } from "./legacy/legacy-rules.ts";
export { declareSdsMetrics, type SdsMetrics } from "./metrics.ts";
export { probeSocket } from "./probe-socket.ts";
export type { NodeIds } from "./sds-context.ts";
export { SdsError } from "./sds-error.ts";
export { reserveSdsSocket } from "./sds-socket.ts";
export type { SecretSource, SourceSecret } from "./secret-source.ts";
export { type SdsServer, type SdsServerOptions, startSdsServer } from "./start-sds-server.ts";
