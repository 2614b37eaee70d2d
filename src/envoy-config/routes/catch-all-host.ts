import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import type { VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { clusterName, PASSTHROUGH_CLUSTER } from "../cluster-name.ts";
import { routeHeaders } from "./proxy-headers.ts";

/** What happens to requests for hosts that nobody knows: on to where they were meant to go, or refused. */
export function buildCatchAllHost(scope: OutboundScope): VirtualHost {
  const { mode, egressProxy } = scope.outboundTrafficPolicy;
  const { attemptCount, forwardedHost } = routeHeaders(scope);
  if (mode === "REGISTRY_ONLY") return withoutCount(BLOCK_ALL, attemptCount);
  if (egressProxy === undefined && !forwardedHost) return withoutCount(ALLOW_ANY, attemptCount);
  const cluster =
    egressProxy === undefined
      ? PASSTHROUGH_CLUSTER
      : clusterName("outbound", egressProxy.port?.number ?? 0, egressProxy.subset, egressProxy.host);
  return withoutCount(allowAny(cluster, forwardedHost), attemptCount);
}

/** The host itself, unless how often a request was tried is not to be told. */
function withoutCount(host: VirtualHost, attemptCount: boolean): VirtualHost {
  if (attemptCount) return host;
  const { includeRequestAttemptCount: _count, ...silent } = host;
  return silent;
}

function allowAny(cluster: string, appendXForwardedHost = false): VirtualHost {
  const route = { cluster, timeout: "0s", maxGrpcTimeout: "0s", ...(appendXForwardedHost && { appendXForwardedHost }) };
  return {
    name: "allow_any",
    domains: ["*"],
    includeRequestAttemptCount: true,
    routes: [{ name: "allow_any", match: { prefix: "/" }, route }],
  };
}

/** Shared by all proxies, so that they are encoded once. */
const ALLOW_ANY = allowAny(PASSTHROUGH_CLUSTER);
const BLOCK_ALL: VirtualHost = {
  name: "block_all",
  domains: ["*"],
  includeRequestAttemptCount: true,
  routes: [{ name: "block_all", match: { prefix: "/" }, directResponse: { status: 502 } }],
};
