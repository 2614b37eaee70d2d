import type { ConnectionPool } from "../specs.ts";
import type { Report } from "./report.ts";
import { durationReason, nonNegativeReason } from "./values.ts";

const HTTP_NUMBERS = {
  http1MaxPendingRequests: "http1 max pending requests",
  http2MaxRequests: "http2 max requests",
  maxRequestsPerConnection: "max requests per connection",
  maxRetries: "max retries",
  maxConcurrentStreams: "max concurrent streams",
} as const;

/** Limits of connections and requests. */
export function validateConnectionPool(report: Report, pool: ConnectionPool | undefined): void {
  if (pool === undefined) return;
  const { http, tcp } = pool;
  if (http === undefined && tcp === undefined) report.error("connection pool must have at least one field");
  if (http !== undefined) validateHttp(report.at("http"), http);
  if (tcp !== undefined) validateTcp(report.at("tcp"), tcp);
}

function validateHttp(report: Report, http: NonNullable<ConnectionPool["http"]>): void {
  for (const [name, what] of Object.entries(HTTP_NUMBERS)) {
    report.error(nonNegativeReason(http[name as keyof typeof HTTP_NUMBERS], what), name);
  }
  report.error(durationReason(http.idleTimeout), "idleTimeout");
  for (const name of http.http2KeepAlive === undefined ? [] : (["interval", "timeout"] as const)) {
    const value = http.http2KeepAlive?.[name];
    const reason = value === undefined ? `http2 keepalive ${name} is required` : durationReason(value);
    report.error(reason, "http2KeepAlive", name);
  }
  if (http.h2UpgradePolicy === "UPGRADE" && http.useClientProtocol) {
    report.error("use client protocol must not be true when H2UpgradePolicy is UPGRADE", "useClientProtocol");
  }
}

function validateTcp(report: Report, tcp: NonNullable<ConnectionPool["tcp"]>): void {
  report.error(nonNegativeReason(tcp.maxConnections, "max connections"), "maxConnections");
  report.error(durationReason(tcp.connectTimeout), "connectTimeout");
  report.error(durationReason(tcp.maxConnectionDuration), "maxConnectionDuration");
  // Zero lets a connection be idle for ever.
  if (!isUnderMillisecond(tcp.idleTimeout)) report.error(durationReason(tcp.idleTimeout), "idleTimeout");
  report.error(durationReason(tcp.tcpKeepalive?.time), "tcpKeepalive", "time");
  report.error(durationReason(tcp.tcpKeepalive?.interval), "tcpKeepalive", "interval");
}

/** `0s` to `0.000999s`, as durations are spelled once they are decoded. */
function isUnderMillisecond(duration: string | undefined): boolean {
  return duration !== undefined && /^0(\.000\d*)?s$/.test(duration);
}
