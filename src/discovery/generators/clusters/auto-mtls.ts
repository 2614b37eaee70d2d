import type { Cluster_DiscoveryType } from "../../../protocol/gen/envoy/config/cluster/v3.ts";
import type { Service, ServicePort } from "../../model/service.ts";
import type { OutboundScope } from "../../snapshot/push-snapshot.ts";
import { withTrustDomainAliases } from "../tls/index.ts";
import type { TransportTarget } from "./client-transport.ts";
import { endpointIdentities } from "./endpoint-identities.ts";

/**
 * Mutual TLS where no rule speaks of TLS. Envoy finds an endpoint's ability in its metadata; a cluster that calls the original
 * address has no metadata, so that all endpoints must be able.
 */
export function autoMtls(
  scope: OutboundScope,
  service: Service,
  port: ServicePort,
  type: Cluster_DiscoveryType,
): TransportTarget["autoMtls"] {
  const isPossible = scope.mesh.enableAutoMtls && !service.meshExternal && scope.serviceMtls(service) !== "DISABLE";
  if (!isPossible) return "never";
  if (type !== "ORIGINAL_DST") return "where-possible";
  const endpoints = scope.snapshot
    .endpoints(service.key)
    .filter(({ servicePortName }) => servicePortName === port.name);
  const isAble = endpoints.every(
    (endpoint) => endpoint.tlsMode === "istio" && scope.endpointMtls(endpoint) !== "DISABLE",
  );
  return endpoints.length > 0 && isAble ? "always" : "never";
}

/** Every name that a certificate of the service may carry. */
export function identitiesOf({ snapshot, mesh }: OutboundScope, service: Service): readonly string[] {
  const { accounts } = endpointIdentities(snapshot.endpoints(service.key));
  return withTrustDomainAliases([...accounts, ...service.subjectAltNames], mesh.trustDomain, mesh.trustDomainAliases);
}
