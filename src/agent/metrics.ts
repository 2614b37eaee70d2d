import { type MetricDescription, MetricRegistry } from "../base/metric-registry.ts";
import { declareDnsMetrics } from "../dns/index.ts";
import { declareEnvoyMetrics, type EnvoyMetrics } from "../envoy/index.ts";
import { declareIdentityMetrics } from "../identity/index.ts";
import { declareSdsMetrics } from "../sds/index.ts";
import { declareScrapeMetrics } from "../status/index.ts";
import { declareWasmMetrics } from "../wasm/index.ts";
import { declareXdsProxyMetrics } from "../xds-proxy/index.ts";

export type AgentMetrics = ReturnType<typeof declareAgentMetrics>;

/** Everything the agent process exports, declared once per process; those of Envoy before it is spawned. */
export function declareAgentMetrics(registry: MetricRegistry, envoy: EnvoyMetrics) {
  return {
    envoy,
    dns: declareDnsMetrics(registry),
    identity: declareIdentityMetrics(registry),
    scrape: declareScrapeMetrics(registry),
    sds: declareSdsMetrics(registry),
    wasm: declareWasmMetrics(registry),
    xds: declareXdsProxyMetrics(registry),
  };
}

/** Names, kinds and texts of all of them, for generated documents. */
export async function listAgentMetrics(): Promise<readonly MetricDescription[]> {
  const registry = new MetricRegistry();
  declareAgentMetrics(registry, declareEnvoyMetrics(registry));
  return registry.describe();
}
