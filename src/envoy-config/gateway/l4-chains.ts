import type { TcpMatch, TlsMatch } from "../../istio-api/specs/virtual-service.ts";
import type { OutboundScope, VirtualServiceRule } from "../../mesh-model/push-snapshot.ts";
import type { Filter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { type DestinationContext, filterToRoute } from "../listeners/outbound/destination-filter.ts";
import type { RouterServer } from "./gateway-places.ts";
import { boundTo } from "./generate-gateway-route.ts";
import { commonHosts } from "./server-hosts.ts";

/** A chain before it is known which others it stands beside. */
export interface GatewayChain {
  /** Server names; none: all that no other chain has. */
  readonly names: readonly string[];
  readonly alpn?: readonly string[];
  readonly filters: readonly Filter[];
}

/** Where the bytes of a server without HTTP layer go: to the first `tcp` route that speaks of it. */
export function tcpFilters(context: DestinationContext, server: RouterServer): readonly Filter[] | undefined {
  for (const rule of rulesFor(context.scope, server)) {
    const route = rule.spec.tcp.find(({ match }) => match.length === 0 || match.some((one) => applies(one, server)));
    if (route !== undefined) return [filterToRoute(context, route.route, ruleName(rule))];
  }
  return undefined;
}

/** TLS that others end, by server name. */
export function passthroughChains(context: DestinationContext, server: RouterServer): readonly GatewayChain[] {
  return rulesFor(context.scope, server).flatMap((rule) =>
    rule.spec.tls.flatMap(({ match, route }) =>
      match
        .filter((one) => applies(one, server))
        .map(({ sniHosts }) => ({
          names: sniHosts.includes("*") ? [] : [...new Set(sniHosts.map((host) => host.toLowerCase()))],
          filters: [filterToRoute(context, route, ruleName(rule))],
        })),
    ),
  );
}

function rulesFor(scope: OutboundScope, { gateway, hosts }: RouterServer): readonly VirtualServiceRule[] {
  return boundTo(scope, gateway).filter(
    ({ object, hosts: ruled }) => commonHosts(hosts, object.namespace, ruled).length > 0,
  );
}

/** Connections come from anywhere, so that where they come from and were going is not asked. */
function applies({ port, gateways }: Pick<TcpMatch & TlsMatch, "port" | "gateways">, server: RouterServer): boolean {
  return (port === 0 || port === server.port) && (gateways.length === 0 || gateways.includes(server.gateway));
}

function ruleName({ object }: VirtualServiceRule): string {
  return `${object.name}.${object.namespace}`;
}
