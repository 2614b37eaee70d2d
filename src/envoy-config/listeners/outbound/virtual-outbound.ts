import type { OutboundScope } from "../../../mesh-model/push-snapshot.ts";
import type { Listener } from "../../../protobuf/gen/envoy/config/listener/v3.ts";
import type { AccessLogs } from "../../access-log/build-access-logs.ts";
import { isDynamic } from "../../dynamic-dns.ts";
import { HTTP_PROXY_ROUTE } from "../../routes/route-name.ts";
import { buildPlace, loopbackBinds, wildcardBinds } from "../addresses.ts";
import { detectionTimeout } from "../detection-timeout.ts";
import { exactBalance } from "../exact-balance.ts";
import { blackHoleChain } from "../inbound/virtual-inbound.ts";
import { outboundHttpChain } from "./build-listener.ts";
import { catchAllChain } from "./catch-all.ts";

const VIRTUAL_OUTBOUND = "virtualOutbound";

/** Takes every redirected connection and hands it to the listener of its first destination, if there is one. */
export function buildVirtualOutbound(scope: OutboundScope, accessLogs: AccessLogs): Listener {
  const port = scope.mesh.proxyListenPort;
  return {
    ...buildPlace(wildcardBinds(scope.traits), port),
    name: VIRTUAL_OUTBOUND,
    trafficDirection: "OUTBOUND",
    useOriginalDst: true,
    ...(scope.traits.interception === "TPROXY" && { transparent: true }),
    filterChains: [
      blackHoleChain(`${VIRTUAL_OUTBOUND}-blackhole`, port),
      catchAllChain(scope, `${VIRTUAL_OUTBOUND}-catchall-tcp`, accessLogs.traffic),
    ],
    maxConnectionsToAcceptPerSocketEvent: 1,
    ...(accessLogs.listener.length > 0 && { accessLog: accessLogs.listener }),
  };
}

/** For applications that are told to use a proxy, as `http_proxy` does. */
export function buildHttpProxyListener(scope: OutboundScope, accessLogs: AccessLogs): Listener | undefined {
  const port = scope.traits.httpProxyPort || scope.mesh.proxyHttpPort;
  if (port === 0) return undefined;
  const place = buildPlace(loopbackBinds(scope.traits), port);
  const looksUpHosts = scope.services.some(isDynamic);
  const part = { routeName: HTTP_PROXY_ROUTE, grpcWeb: false, looksUpHosts, isProxy: true };
  return {
    ...place,
    trafficDirection: "OUTBOUND",
    ...exactBalance(scope.traits.listening.outboundBalance),
    ...detectionTimeout(scope.mesh, []),
    filterChains: [outboundHttpChain(scope, place.name ?? "", part, accessLogs)],
    maxConnectionsToAcceptPerSocketEvent: 1,
  };
}
