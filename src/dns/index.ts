export type { NameInfo, NameTable } from "../protocol/dns/name-table-message.ts";
export { decodeNameTable, NAME_TABLE_TYPE_URL, NameTableError } from "../protocol/dns/name-table-message.ts";
export type { DnsGeneration } from "./core/generations.ts";
export type { HostPort } from "./core/listen-plan.ts";
export { DEFAULT_LISTEN } from "./core/listen-plan.ts";
export { DnsError } from "./errors.ts";
export { type DnsMetrics, declareDnsMetrics } from "./metrics.ts";
export type { DnsLimits, DnsServer, DnsServerOptions } from "./options.ts";
export { startDnsServer } from "./start-dns-server.ts";
