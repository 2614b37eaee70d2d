export { DNS_RULES, type DnsRules } from "./core/generations.ts";
export { type DnsMetrics, declareDnsMetrics } from "./metrics.ts";
export type { DnsServer, DnsServerOptions } from "./options.ts";
export { startDnsServer } from "./start-dns-server.ts";
