import type { GatewayTopology } from "../../istio-api/proxy-config/proxy-config.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import type { Filter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import type { AccessLogs } from "../access-log/build-access-logs.ts";
import { hostLookupFilter, isDynamic } from "../dynamic-dns.ts";
import { buildHttpFilters } from "../listeners/http-filters.ts";
import { httpManagerFilter, httpManagerSettings, routesFrom } from "../listeners/http-manager.ts";
import type { RouterServer } from "./gateway-places.ts";

/** The HTTP layer of a router: clients are strangers, so that what they say of themselves is replaced or taken away. */
export function gatewayHttpFilter(
  scope: OutboundScope,
  listener: string,
  { routeName, protocol }: RouterServer,
  { security, accessLogs }: { readonly security: readonly HttpFilter[]; readonly accessLogs: AccessLogs },
): Filter {
  const settings = httpManagerSettings(scope.mesh, scope.traits, accessLogs.traffic);
  const { numTrustedProxies = 0, forwardClientCertDetails } = gatewayTopology(scope);
  const isSaid = forwardClientCertDetails !== undefined && forwardClientCertDetails !== "UNDEFINED";
  const forward = isSaid ? forwardClientCertDetails : "SANITIZE_SET";
  const tells = forward === "SANITIZE_SET" || forward === "APPEND_FORWARD";
  const lookup = scope.services.some(isDynamic) ? hostLookupFilter(scope.traits) : undefined;
  return httpManagerFilter(settings, {
    statPrefix: `outbound_${listener};`,
    httpFilters: buildHttpFilters({
      grpcWeb: protocol === "GRPC-Web",
      hidesDebugHeaders: settings.headers.envoyDebugHeaders?.disabled === true,
      security,
      lookup,
    }),
    ...routesFrom(routeName),
    useRemoteAddress: true,
    ...(numTrustedProxies > 0 && { xffNumTrustedHops: numTrustedProxies }),
    forwardClientCertDetails: forward,
    ...(tells && { setCurrentClientCertDetails: { subject: true, cert: true, dns: true, uri: true } }),
    httpProtocolOptions: {},
    serverName: "istio-envoy",
  });
}

/** What stands in front of the router. One that tells its configuration has told everything. */
export function gatewayTopology({ mesh, traits }: Pick<OutboundScope, "mesh" | "traits">): GatewayTopology {
  const { topology, headers } = traits.listening;
  if (topology !== undefined || headers !== undefined) return topology ?? {};
  const { gatewayTopology: ofMesh } = (mesh.source.defaultConfig ?? {}) as {
    readonly gatewayTopology?: GatewayTopology;
  };
  return ofMesh ?? {};
}
