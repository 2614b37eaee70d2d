import type { DnsServer, DnsServerOptions } from "./options.ts";

export { DNS_RULES, type DnsRules } from "./core/generations.ts";
export { declareDnsMetrics } from "./metrics.ts";
export type { DnsServer, DnsServerOptions } from "./options.ts";

/** Loaded when it is started: settings enter this door before Envoy is spawned. */
export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  return (await import("./start-dns-server.ts")).startDnsServer(options);
}
