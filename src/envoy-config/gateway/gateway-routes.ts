import { compareText } from "../../istio-api/config-object.ts";
import { compareSpecificity } from "../../istio-api/values/hostname.ts";
import type { OutboundScope, VirtualServiceRule } from "../../mesh-model/push-snapshot.ts";
import type { Route, RouteConfiguration, VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { buildHttpRoutes } from "../routes/http-routes.ts";
import { isCatchAll } from "../routes/match.ts";
import { routeConfiguration, routeHeaders } from "../routes/route-configuration.ts";
import { type Attempt, plainly } from "../shared/attempt.ts";
import { peerHeaders } from "../telemetry/metric-tags.ts";
import { describesPeers } from "../telemetry/metrics.ts";
import { boundTo, commonHosts, mergeGateways, type RouterServer } from "./gateway-servers.ts";
import { isQuicServer, quicOffer } from "./quic.ts";

/**
 * The route configuration of that name for all routers of the scope; one that no listener would ask for has no virtual hosts. A rule of
 * which no routes can be made costs the others nothing.
 */
export function generateGatewayRoute(scope: OutboundScope, name: string, attempt = plainly): RouteConfiguration {
  const servers = mergeGateways(scope).merged.flatMap((listener) =>
    listener.servers.filter(({ routeName }) => routeName !== "" && routeName === name),
  );
  const [first] = servers;
  if (first === undefined) return routeConfiguration(name, [], true);
  const hosts = joined(collect(scope, servers, attempt)).map(([names, open]) => virtualHost(scope, names, open));
  // Every host is answered with 404.
  const nothing: VirtualHost = { name: `blackhole:${first.port}`, domains: ["*"] };
  const sorted = hosts.sort((a, b) => compareText(a.name ?? "", b.name ?? ""));
  return routeConfiguration(name, sorted.length > 0 ? sorted : [nothing], true);
}

interface OpenHost {
  readonly port: number;
  readonly routes: Route[];
  /** Rules whose routes it has: two servers may have the same one. */
  readonly rules: Set<VirtualServiceRule>;
  requiresTls: boolean;
  /** Clients may come back over HTTP/3. */
  offersQuic: boolean;
}

const CLOSED = { requiresTls: false, offersQuic: false };

/** Rules for one host are all in force, one after the other. */
function collect(
  scope: OutboundScope,
  servers: readonly RouterServer[],
  attempt: Attempt,
): ReadonlyMap<string, OpenHost> {
  const hosts = new Map<string, OpenHost>();
  const made = new Map<string, readonly Route[]>();
  for (const server of servers) {
    const redirects = server.tls?.httpsRedirect === true;
    const open = (host: string) => {
      const known = hosts.get(host) ?? { port: server.port, routes: [], rules: new Set(), ...CLOSED };
      hosts.set(host, known);
      if (redirects) known.requiresTls = true;
      if (scope.mesh.quicListeners && isQuicServer(server)) known.offersQuic = true;
      return known;
    };
    for (const rule of boundTo(scope, server.gateway)) {
      const common = commonHosts(server.hosts, rule.object.namespace, rule.hosts);
      if (common.length === 0) continue;
      // Servers of one gateway and port have the same routes of a rule.
      const key = [server.gateway, server.port, server.kind, rule.object.namespace, rule.object.name].join(" ");
      const routes =
        made.get(key) ?? attempt(common.join(", "), () => routesOf(scope, rule, server), rule.object) ?? [];
      made.set(key, routes);
      // A rule for other ports or gateways says nothing here.
      if (routes.length === 0) continue;
      for (const host of common) {
        const known = open(host);
        if (!known.rules.has(rule)) known.routes.push(...routes);
        known.rules.add(rule);
      }
    }
    if (redirects) for (const { host } of server.hosts) open(host);
  }
  return hosts;
}

/** Hosts that the same rules speak of, in the same way, are one virtual host, named by the most specific: routes are sent once. */
function joined(hosts: ReadonlyMap<string, OpenHost>): readonly (readonly [readonly string[], OpenHost])[] {
  const groups = new Map<Route | undefined, (readonly [string[], OpenHost])[]>();
  for (const [name, open] of [...hosts].sort(([a], [b]) => compareSpecificity(a, b))) {
    const [first] = open.routes;
    const known = groups.get(first) ?? [];
    groups.set(first, known);
    const [names] = known.find(([, other]) => isAlike(other, open)) ?? [];
    if (names === undefined) known.push([[name], open]);
    else names.push(name);
  }
  return [...groups.values()].flat();
}

function isAlike(a: OpenHost, b: OpenHost): boolean {
  const isSame = a.requiresTls === b.requiresTls && a.offersQuic === b.offersQuic;
  return isSame && a.routes.length === b.routes.length && a.routes.every((route, at) => route === b.routes[at]);
}

function routesOf(scope: OutboundScope, { spec, object }: VirtualServiceRule, { port, gateway, kind }: RouterServer) {
  const { namespace, labels } = scope.traits;
  return buildHttpRoutes(spec.http, {
    port,
    isTls: kind === "https",
    lookup: scope,
    sessions: scope.mesh.persistentSessions,
    caller: { namespace, labels, gateway },
    isProxyless: false,
    origin: object,
    forwardedHost: routeHeaders(scope).forwardedHost,
    defaultRetries: scope.mesh.defaultRetries,
  });
}

/** A route that takes every request comes last, of whichever rule it is: rules of one host do not know each other. */
function virtualHost(scope: OutboundScope, domains: readonly string[], open: OpenHost): VirtualHost {
  const { port, routes, requiresTls, offersQuic } = open;
  const isLast = ({ match = {} }: Route) => isCatchAll(match);
  const ordered = [...routes.filter((route) => !isLast(route)), ...routes.filter(isLast)];
  return {
    name: `${domains[0]}:${port}`,
    domains,
    ...(routeHeaders(scope).attemptCount && { includeRequestAttemptCount: true }),
    ...(requiresTls && { requireTls: "ALL" }),
    ...(describesPeers(scope) && { requestHeadersToAdd: peerHeaders() }),
    ...(offersQuic && { responseHeadersToAdd: [quicOffer(port)] }),
    ...(ordered.length > 0 && { routes: ordered }),
  };
}
