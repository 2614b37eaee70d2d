import type { Destination } from "../../istio-api/specs/common.ts";
import type { RouteAction_HashPolicy } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { clusterName } from "../cluster-name.ts";
import { buildHashPolicy } from "./hash-policy.ts";
import type { RouteLookup } from "./route-lookup.ts";

export interface ResolvedDestination {
  readonly cluster: string;
  readonly hashPolicy: RouteAction_HashPolicy | undefined;
}

/** A destination that names no port means the service's only one; a service with several is reached on the port of the request. */
export function resolveDestination(
  destination: Destination,
  listenerPort: number,
  lookup: RouteLookup,
): ResolvedDestination {
  const service = lookup.service(destination.host);
  const only = service?.ports.length === 1 ? service.ports[0]?.port : undefined;
  const port = destination.port?.number ?? only ?? listenerPort;
  return {
    cluster: clusterName("outbound", port, destination.subset, destination.host),
    hashPolicy: service && buildHashPolicy(lookup.destinationRule(service), port, destination.subset),
  };
}
