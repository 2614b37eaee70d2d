import type { ConsistentHash } from "../../istio-api/specs/destination-rule.ts";
import type { AppliedDestinationRule } from "../../mesh-model/push-snapshot.ts";
import type { RouteAction_HashPolicy } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { effectivePolicy } from "../traffic-policy.ts";
import { isHeaderSafe } from "./envoy-accepts.ts";

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
