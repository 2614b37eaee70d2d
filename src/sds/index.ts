import type { GatewaySdsOptions } from "./compat/gateway/start-gateway-sds.ts";
import type { BackgroundSdsOptions } from "./start-sds-in-background.ts";

export type { LegacyToken } from "./compat/legacy-rules.ts";
export type { PrivateKeyProvider } from "./core/encode-secret.ts";
export { decideSdsStart, type SdsStart, type SdsStartOptions } from "./decide-start.ts";
export { declareSdsMetrics } from "./metrics.ts";
export { probeSocket } from "./probe-socket.ts";
export { reserveSdsSocket } from "./sds-socket.ts";

// Servers are loaded when they are started: the agent enters this door before Envoy is spawned.

export async function startSdsInBackground(options: BackgroundSdsOptions) {
  return (await import("./start-sds-in-background.ts")).startSdsInBackground(options);
}

export async function startGatewaySds(options: GatewaySdsOptions) {
  return (await import("./compat/gateway/start-gateway-sds.ts")).startGatewaySds(options);
}
