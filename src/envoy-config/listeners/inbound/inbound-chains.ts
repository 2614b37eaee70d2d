import { isHttp2, type Protocol } from "../../../istio-api/values/protocol.ts";
import type { TransportSocket } from "../../../protobuf/gen/envoy/config/core/v3.ts";
import type { Filter, FilterChain } from "../../../protobuf/gen/envoy/config/listener/v3.ts";
import { buildHttpFilters } from "../http-filters.ts";
import { type HttpManagerSettings, httpManagerFilter } from "../http-manager.ts";
import { tcpProxyTo } from "../tcp-proxy.ts";
import type { ChainShape } from "./chain-table.ts";
import type { InboundPolicies } from "./inbound-policies.ts";
import { buildInboundRoute } from "./inbound-route.ts";

/** What all chains of one proxy share. */
export interface InboundSettings extends HttpManagerSettings {
  readonly policies: InboundPolicies;
  /** The workload's own certificate, for chains that end TLS. */
  readonly tlsSocket: TransportSocket;
}

/** One port, or all ports that are not named elsewhere. */
export interface InboundTarget {
  readonly cluster: string;
  readonly protocol: Protocol;
  readonly servicePort: number;
  /** Undefined: every port. */
  readonly destinationPort?: number;
  readonly statPrefix: string;
  readonly chainName: (layer: ChainShape["layer"]) => string;
  /** Instead of the workload's. */
  readonly tlsSocket?: TransportSocket;
}

export function buildInboundChains(
  settings: InboundSettings,
  target: InboundTarget,
  shapes: readonly ChainShape[],
): readonly FilterChain[] {
  // Chains of a port differ in their match alone.
  const http = shapes.some(({ layer }) => layer === "http") ? httpFilters(settings, target) : [];
  const tcp = [...settings.policies.network, tcpProxyTo(target.cluster, settings.accessLog, settings.idleTimeout)];
  const { destinationPort } = target;
  return shapes.map(({ match, layer, endsTls }) => ({
    name: target.chainName(layer),
    filterChainMatch: { ...(destinationPort !== undefined && { destinationPort }), ...match },
    ...(endsTls && { transportSocket: target.tlsSocket ?? settings.tlsSocket }),
    filters: layer === "http" ? http : tcp,
  }));
}

function httpFilters(settings: InboundSettings, target: InboundTarget): readonly Filter[] {
  const { protocol, cluster, servicePort, statPrefix } = target;
  const {
    forwardedClientCert = "UNDEFINED",
    setCurrentClientCertDetails: details = {},
    envoyDebugHeaders,
  } = settings.headers;
  const hidesDebugHeaders = envoyDebugHeaders?.disabled === true;
  return [
    httpManagerFilter(settings, {
      statPrefix,
      routeConfig: buildInboundRoute(cluster, servicePort, protocol),
      httpFilters: buildHttpFilters({
        grpcWeb: protocol === "GRPC-Web",
        hidesDebugHeaders,
        security: settings.policies.http,
      }),
      // Tells the application who called: it sees only the proxy's connection.
      forwardClientCertDetails: forwardedClientCert === "UNDEFINED" ? "APPEND_FORWARD" : forwardedClientCert,
      setCurrentClientCertDetails: { subject: true, dns: true, uri: true, ...details },
      serverName: "istio-envoy",
      ...(isHttp2(protocol) && { http2ProtocolOptions: {} }),
    }),
  ];
}
