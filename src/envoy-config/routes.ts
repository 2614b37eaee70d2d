import { parseProtocol } from "../istio-api/values/protocol.ts";
import type { EgressListener, OutboundScope } from "../mesh-model/push-snapshot.ts";
import type { RouteConfiguration, VirtualHost } from "../protobuf/gen/envoy/config/route/v3.ts";
import { generateGatewayRoute } from "./gateway/index.ts";
import { assembleHosts, type Candidate } from "./routes/assemble-hosts.ts";
import { buildCatchAllHost } from "./routes/catch-all-host.ts";
import { addressDomain, type PortForm } from "./routes/domains.ts";
import { routeConfiguration } from "./routes/route-configuration.ts";
import { parseRouteName } from "./routes/route-name.ts";
import { httpPorts, listenerIndex } from "./routes/rule-index.ts";
import { ruleHost, serviceHost } from "./routes/virtual-host.ts";

/** The route configuration of that name for all proxies of the scope; one that no listener would ask for has no virtual hosts. */
export function generateRoute(scope: OutboundScope, routeName: string): RouteConfiguration {
  if (scope.gateways !== undefined) return generateGatewayRoute(scope, routeName);
  const name = parseRouteName(routeName);
  switch (name?.kind) {
    case "port": {
      const listeners = listenersOn(scope, name.port);
      const proxy = listeners.find(isProxy);
      if (proxy !== undefined) return routeConfiguration(routeName, allPorts(scope, proxy), false);
      const candidates = listeners.flatMap((listener) => hostsOn(scope, listener, name.port, "plain"));
      return routeConfiguration(routeName, listeners.length === 0 ? [] : closed(scope, candidates), true);
    }
    case "service":
      return routeConfiguration(routeName, serviceOnly(scope, name.host, name.port), true);
    case "http-proxy":
      return routeConfiguration(routeName, allPorts(scope, scope.egress.find(isPortless)), false);
    case "socket": {
      const { bind } = name;
      const listener = scope.egress.find((egress) => egress.port?.number === 0 && egress.bind === bind);
      return routeConfiguration(routeName, allPorts(scope, listener), false);
    }
    case undefined:
      return routeConfiguration(routeName, [], true);
  }
}

/**
 * Listeners of the port share a route name, whatever address they are bound to. The portless one leaves ports to those that name them,
 * unless it is bound elsewhere and so listens beside them.
 */
function listenersOn({ egress }: OutboundScope, port: number): readonly EgressListener[] {
  const own = egress.filter((listener) => listener.port?.number === port);
  const binds = new Set(own.map(({ bind }) => bind));
  return [...own, ...egress.filter((listener) => isPortless(listener) && !binds.has(listener.bind))];
}

/** Clients are told to use it as their proxy. */
function isProxy({ port }: EgressListener): boolean {
  return port !== undefined && parseProtocol(port.protocol) === "HTTP_PROXY";
}

function isPortless({ port }: EgressListener): boolean {
  return port === undefined;
}

function hostsOn(scope: OutboundScope, listener: EgressListener, port: number, form: PortForm): readonly Candidate[] {
  const index = listenerIndex(listener);
  const services = index.servicesOn(port);
  // Bound to an address of its own, a listener with one service needs no host in the request to know what is meant.
  const isAlone = services.length === 1 && listener.bind !== "" && form === "plain";
  const address = isAlone && isSpecific(listener.bind) ? { address: addressDomain(listener.bind) } : {};
  return [
    ...services.map((service) => ({
      host: serviceHost(service, index.rulesFor(service.hostname), { scope, port, form, ...address }),
      name: service.hostname,
    })),
    ...index.ruleHostsOn(port).flatMap((ruled) => {
      const host = ruleHost(ruled, { scope, port, form });
      return host === undefined ? [] : { host, name: ruled.host };
    }),
  ];
}

function isSpecific(bind: string): boolean {
  return bind !== "0.0.0.0" && bind !== "::" && !bind.startsWith("unix://");
}

/** What no other virtual host takes goes to the last one. */
function closed(scope: OutboundScope, candidates: readonly Candidate[]): readonly VirtualHost[] {
  return [...assembleHosts(candidates), buildCatchAllHost(scope)];
}

/** The listener's address already says which service is meant, so that any host will do. */
function serviceOnly(scope: OutboundScope, host: string, port: number): readonly VirtualHost[] {
  for (const listener of listenersOn(scope, port)) {
    const index = listenerIndex(listener);
    const service = index.servicesOn(port).find(({ hostname }) => hostname === host);
    if (service === undefined) continue;
    return [{ ...serviceHost(service, index.rulesFor(host), { scope, port, form: "plain" }), domains: ["*"] }];
  }
  return [];
}

/** Hosts of all ports at once: requests name the port in their host, except for that of plain HTTP. */
function allPorts(scope: OutboundScope, listener: EgressListener | undefined): readonly VirtualHost[] {
  if (listener === undefined) return [];
  const ports = [80, ...listener.services.flatMap(httpPorts)];
  const candidates = [...new Set(ports)].flatMap((port) =>
    hostsOn(scope, listener, port, port === 80 ? "both" : "with-port"),
  );
  return closed(scope, candidates);
}
