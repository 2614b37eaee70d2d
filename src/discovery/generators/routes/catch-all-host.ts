import type { VirtualHost } from "../../../protocol/gen/envoy/config/route/v3.ts";
import type { OutboundScope } from "../../snapshot/push-snapshot.ts";
import { clusterName, PASSTHROUGH_CLUSTER } from "../cluster-name.ts";

/** What happens to requests for hosts that nobody knows: on to where they were meant to go, or refused. */
export function buildCatchAllHost({ outboundTrafficPolicy }: OutboundScope): VirtualHost {
  if (outboundTrafficPolicy.mode === "REGISTRY_ONLY") return BLOCK_ALL;
  const { egressProxy } = outboundTrafficPolicy;
  if (egressProxy === undefined) return ALLOW_ANY;
  return allowAny(clusterName("outbound", egressProxy.port?.number ?? 0, egressProxy.subset, egressProxy.host));
}

function allowAny(cluster: string): VirtualHost {
  return {
    name: "allow_any",
    domains: ["*"],
    includeRequestAttemptCount: true,
    routes: [{ name: "allow_any", match: { prefix: "/" }, route: { cluster, timeout: "0s", maxGrpcTimeout: "0s" } }],
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
