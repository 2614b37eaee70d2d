import type { OutboundScope } from "../../../mesh-model/push-snapshot.ts";
import type { AccessLog } from "../../../protobuf/gen/envoy/config/accesslog/v3.ts";
import type { FilterChain } from "../../../protobuf/gen/envoy/config/listener/v3.ts";
import { BLACK_HOLE_CLUSTER, PASSTHROUGH_CLUSTER } from "../../cluster-name.ts";
import { tcpProxyTo } from "../tcp-proxy.ts";
import { nameOf, targetOf } from "./destination-filter.ts";

/** Where connections go that no service is known for. */
export function catchAllCluster(scope: OutboundScope): string {
  const { mode, egressProxy } = scope.outboundTrafficPolicy;
  if (mode === "REGISTRY_ONLY") return BLACK_HOLE_CLUSTER;
  return egressProxy === undefined ? PASSTHROUGH_CLUSTER : nameOf(targetOf({ scope, listenPort: 0 }, egressProxy));
}

export function catchAllChain(scope: OutboundScope, name: string, accessLog: readonly AccessLog[]): FilterChain {
  return { name, filters: [tcpProxyTo(catchAllCluster(scope), accessLog, scope.traits.listening.idleTimeout)] };
}
