import { parseProtoDuration } from "../../protobuf/proto-duration.ts";
import type { ValidationProblem } from "../proxy-config/explain-problems.ts";
import type { ProtoDuration } from "../proxy-config/proxy-config.ts";
import { durationProblem } from "../values/duration-problem.ts";
import type { DefaultTrafficPolicy } from "./mesh-config.ts";

type Pool = NonNullable<DefaultTrafficPolicy["connectionPool"]>;
type HttpSettings = NonNullable<Pool["http"]>;
type TcpSettings = NonNullable<Pool["tcp"]>;
type Reason = readonly [field: string, message: string | undefined];

/** Broken rules in the reference's order. */
export function defaultTrafficPolicyProblems(policy: DefaultTrafficPolicy): readonly ValidationProblem[] {
  return [...poolReasons(policy.connectionPool), ...outlierReasons(policy.outlierDetection)].flatMap(
    ([field, message]) => (message === undefined ? [] : [{ field: `defaultTrafficPolicy.${field}`, message }]),
  );
}

function poolReasons(pool: DefaultTrafficPolicy["connectionPool"]): readonly Reason[] {
  if (pool === undefined) return [];
  const { http, tcp } = pool;
  return [
    ["connectionPool", (http ?? tcp) ? undefined : "connection pool must have at least one field"],
    ...(http === undefined ? [] : httpReasons(http)),
    ...(tcp === undefined ? [] : tcpReasons(tcp)),
  ];
}

function httpReasons(http: HttpSettings): readonly Reason[] {
  const at = "connectionPool.http";
  const limit = (field: keyof HttpSettings, words: string): Reason => [`${at}.${field}`, negative(http[field], words)];
  const both = http.h2UpgradePolicy === "UPGRADE" && http.useClientProtocol === true;
  return [
    limit("http1MaxPendingRequests", "http1 max pending requests"),
    limit("http2MaxRequests", "http2 max requests"),
    limit("maxRequestsPerConnection", "max requests per connection"),
    limit("maxRetries", "max retries"),
    limit("maxConcurrentStreams", "max concurrent streams"),
    [`${at}.idleTimeout`, tooFine(http.idleTimeout)],
    [
      `${at}.useClientProtocol`,
      both ? "use client protocol must not be true when H2UpgradePolicy is UPGRADE" : undefined,
    ],
  ];
}

function tcpReasons({ tcpKeepalive = {}, ...tcp }: TcpSettings): readonly Reason[] {
  const at = "connectionPool.tcp";
  // Less than a millisecond switches this one off.
  const idles = tcp.idleTimeout !== undefined && parseProtoDuration(tcp.idleTimeout) / 1_000_000n !== 0n;
  return [
    [`${at}.maxConnections`, negative(tcp.maxConnections, "max connections")],
    [`${at}.connectTimeout`, tooFine(tcp.connectTimeout)],
    [`${at}.maxConnectionDuration`, tooFine(tcp.maxConnectionDuration)],
    [`${at}.idleTimeout`, idles ? tooFine(tcp.idleTimeout) : undefined],
    [`${at}.tcpKeepalive.time`, tooFine(tcpKeepalive.time)],
    [`${at}.tcpKeepalive.interval`, tooFine(tcpKeepalive.interval)],
  ];
}

function outlierReasons(outlier: DefaultTrafficPolicy["outlierDetection"] = {}): readonly Reason[] {
  const at = "outlierDetection";
  const unsplit = outlier.splitExternalLocalOriginErrors !== true && (outlier.consecutiveLocalOriginFailures ?? 0) > 0;
  return [
    [`${at}.baseEjectionTime`, tooFine(outlier.baseEjectionTime)],
    [`${at}.interval`, tooFine(outlier.interval)],
    [
      `${at}.consecutiveLocalOriginFailures`,
      unsplit
        ? "outlier detection consecutive local origin failures is specified, but split external local origin errors is set to false"
        : undefined,
    ],
    [`${at}.maxEjectionPercent`, percentProblem(outlier.maxEjectionPercent)],
    [`${at}.minHealthPercent`, percentProblem(outlier.minHealthPercent)],
  ];
}

function negative(value: unknown, words: string): string | undefined {
  return typeof value === "number" && value < 0 ? `${words} must be non-negative` : undefined;
}

function tooFine(duration: ProtoDuration | undefined): string | undefined {
  return duration === undefined ? undefined : durationProblem(parseProtoDuration(duration));
}

function percentProblem(value = 0): string | undefined {
  return value < 0 || value > 100 ? `percentage ${value} is not in range 0..100` : undefined;
}
