import type { Logger } from "../base/logger.ts";
import { type DnsMetrics, type DnsServer, startDnsServer } from "../dns/index.ts";
import type { AgentConfig } from "../settings/read-agent-config.ts";
import { step } from "./agent-error.ts";

/** Undefined when DNS is not captured. */
export async function connectDns(
  { dns }: AgentConfig,
  log: Logger,
  metrics: DnsMetrics,
): Promise<DnsServer | undefined> {
  if (dns === undefined) return undefined;
  return step("failed to start local DNS server", () => startDnsServer({ ...dns, log: log.scope("dns"), metrics }));
}
