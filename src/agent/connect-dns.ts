import type { Logger } from "../base/logger.ts";
import { type DnsMetrics, type DnsServer, startDnsServer } from "../dns/index.ts";
import type { AgentConfig } from "../settings/index.ts";
import { step } from "./agent-error.ts";

/** Undefined when DNS is not captured. */
export async function connectDns(
  config: AgentConfig,
  log: Logger,
  metrics: DnsMetrics,
): Promise<DnsServer | undefined> {
  const { dns, generation } = config;
  if (!dns.enabled) return undefined;
  return step("failed to start local DNS server", () =>
    startDnsServer({
      listen: dns.listenAddress,
      proxyNamespace: dns.proxyNamespace,
      proxyDomain: dns.proxyDomain,
      asRoot: config.envoy.runsAsProxyUser,
      forwardMode: dns.forwardParallel ? "parallel" : "sequential",
      forwardTimeoutMs: dns.forwardTimeoutMs,
      threads: dns.threads,
      generation: generation.name === "master" || generation.name === "1.20" ? generation.name : "1.8",
      log: log.scope("dns"),
      metrics,
    }),
  );
}
