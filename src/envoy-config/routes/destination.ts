import type { ConsistentHash, Destination } from "../../istio-api/specs.ts";
import type { AppliedDestinationRule } from "../../mesh-model/push-snapshot.ts";
import { behindAliases } from "../../mesh-model/service.ts";
import type { RouteAction_HashPolicy } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { clusterName } from "../shared/cluster-name.ts";
import { effectivePolicy } from "../shared/traffic-policy.ts";
import { isHeaderSafe } from "./envoy-values.ts";
import type { RouteLookup } from "./route-configuration.ts";

export interface ResolvedDestination {
  readonly cluster: string;
  readonly hashPolicy: RouteAction_HashPolicy | undefined;
}

/**
 * A destination that names no port means the service's only one; a host with several, of one object or of several that share them, is
 * reached on the port of the request.
 */
export function resolveDestination(
  destination: Destination,
  listenerPort: number,
  lookup: RouteLookup,
): ResolvedDestination {
  const { host, service } = behindAliases(destination.host, lookup.service);
  const only = service?.ports.length === 1 ? service.ports[0]?.port : undefined;
  const isServed = lookup.service(host, listenerPort) !== undefined;
  const port = destination.port?.number ?? (isServed ? listenerPort : only) ?? listenerPort;
  return {
    cluster: clusterName("outbound", port, destination.subset, host),
    hashPolicy: service && buildHashPolicy(lookup.destinationRule(service), port, destination.subset),
  };
}

/** What of a request decides on the endpoint; the same policy that makes the cluster a ring or a table. */
export function buildHashPolicy(
  rule: AppliedDestinationRule | undefined,
  port: number,
  subset: string,
): RouteAction_HashPolicy | undefined {
  const hash = effectivePolicy(rule, port, subset).loadBalancer?.consistentHash;
  return hash && convertHash(hash);
}

function convertHash(hash: ConsistentHash): RouteAction_HashPolicy | undefined {
  const { httpHeaderName, httpCookie, useSourceIp, httpQueryParameterName } = hash;
  if (httpHeaderName && isHeaderSafe(httpHeaderName)) return { header: { headerName: httpHeaderName } };
  if (httpCookie && httpCookie.name !== "") return { cookie: convertCookie(httpCookie) };
  if (useSourceIp !== undefined) return { connectionProperties: useSourceIp ? { sourceIp: true } : {} };
  return httpQueryParameterName ? { queryParameter: { name: httpQueryParameterName } } : undefined;
}

function convertCookie({ name, path, ttl, attributes }: NonNullable<ConsistentHash["httpCookie"]>) {
  const named = attributes.filter((attribute) => attribute.name !== "");
  return {
    name,
    ...(path !== "" && { path }),
    ...(ttl !== undefined && { ttl }),
    ...(named.length > 0 && { attributes: named }),
  };
}
