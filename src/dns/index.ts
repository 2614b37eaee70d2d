export { type DnsMetrics, declareDnsMetrics } from "./metrics.ts";
export type { DnsServer } from "./options.ts";
export { startDnsServer } from "./start-dns-server.ts";
