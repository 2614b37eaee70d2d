import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";
import type { Cluster_DiscoveryType } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import { withTrustDomainAliases } from "../tls/index.ts";
import type { TransportTarget } from "./client-transport.ts";

/**
 * Mutual TLS where no rule speaks of TLS. Envoy finds an endpoint's ability in its metadata; a cluster that calls the original
 * address has no metadata, so that all endpoints must be able.
 */
export function autoMtls(
  scope: OutboundScope,
  service: Service,
  type: Cluster_DiscoveryType,
): TransportTarget["autoMtls"] {
  const isPossible = scope.mesh.enableAutoMtls && !service.meshExternal && scope.serviceMtls(service) !== "DISABLE";
  if (!isPossible) return "never";
  // A router asks for the endpoints of a headless service; before there are any, nobody is known to be able.
  const isDeserted = service.resolution === "Passthrough" && scope.snapshot.endpoints(service.key).length === 0;
  if (type !== "ORIGINAL_DST") return isDeserted ? "never" : "where-possible";
  return isAble(scope, service) ? "always" : "never";
}

/** All endpoints prove who they are, and none is told not to by a policy of its own. */
export function isAble(scope: OutboundScope, service: Service): boolean {
  const { allMtls, inlined } = scope.snapshot.endpointShape(service.key);
  return allMtls && inlined.every((endpoint) => scope.endpointMtls(endpoint) !== "DISABLE");
}

/** Every name that a certificate of the service may carry. */
export function identitiesOf({ snapshot, mesh }: OutboundScope, service: Service): readonly string[] {
  const names = [...snapshot.serviceAccounts(service.key), ...service.subjectAltNames];
  return withTrustDomainAliases(names, mesh.trustDomainAliases);
}
