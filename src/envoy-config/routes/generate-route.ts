import { compareText } from "../../istio-api/config-object.ts";
import { parseProtocol } from "../../istio-api/values/protocol.ts";
import type { EgressListener, OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { bracketHost } from "../../net/host-port.ts";
import type { RouteConfiguration, VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { type Attempt, plainly } from "../shared/attempt.ts";
import { clusterName, PASSTHROUGH_CLUSTER, UNKNOWN_HOSTS_CLUSTER } from "../shared/cluster-name.ts";
import type { PortForm } from "./domains.ts";
import { parseRouteName, routeConfiguration, routeHeaders } from "./route-configuration.ts";
import { httpPorts, listenerIndex } from "./rule-index.ts";
import { ruleHost, serviceHost } from "./virtual-host.ts";

/** The route configuration of that name for all proxies of the scope; one that no listener would ask for has no virtual hosts. */
export function generateRoute(scope: OutboundScope, routeName: string, attempt = plainly): RouteConfiguration {
  const name = parseRouteName(routeName);
  switch (name?.kind) {
    case "port": {
      const listeners = listenersOn(scope, name.port);
      const proxy = listeners.find(isProxy);
      if (proxy !== undefined) return routeConfiguration(routeName, allPorts(scope, proxy, attempt), false);
      const candidates = listeners.flatMap((listener) =>
        hostsOn(scope, listener, { port: name.port, form: "plain", attempt }),
      );
      return routeConfiguration(routeName, listeners.length === 0 ? [] : closed(scope, candidates), true);
    }
    case "service":
      return routeConfiguration(routeName, serviceOnly(scope, name.host, name.port), true);
    case "http-proxy":
      return routeConfiguration(routeName, allPorts(scope, scope.egress.find(isPortless), attempt), false);
    case "socket": {
      const { bind } = name;
      const listener = scope.egress.find((egress) => egress.port?.number === 0 && egress.bind === bind);
      return routeConfiguration(routeName, allPorts(scope, listener, attempt), false);
    }
    case undefined:
      return routeConfiguration(routeName, [], true);
  }
}

/**
 * Listeners of the port share a route name, regardless of the address they are bound to. The portless one leaves ports to those that name them,
 * unless it is bound elsewhere and so listens beside them.
 */
function listenersOn({ egress }: OutboundScope, port: number): readonly EgressListener[] {
  const own = egress.filter((listener) => listener.port?.number === port);
  const binds = new Set(own.map(({ bind }) => bind));
  return [...own, ...egress.filter((listener) => isPortless(listener) && !binds.has(listener.bind))];
}

/** An explicit proxy for its clients. */
function isProxy({ port }: EgressListener): boolean {
  return port !== undefined && parseProtocol(port.protocol) === "HTTP_PROXY";
}

function isPortless({ port }: EgressListener): boolean {
  return port === undefined;
}

interface PortHosts {
  readonly port: number;
  readonly form: PortForm;
  readonly attempt: Attempt;
}

/** A host that cannot be made costs the others nothing. */
function hostsOn(
  scope: OutboundScope,
  listener: EgressListener,
  { port, form, attempt }: PortHosts,
): readonly Candidate[] {
  const index = listenerIndex(listener);
  const services = index.servicesOn(port);
  // Bound to an address of its own, a listener with one service needs no host in the request to know what is meant.
  const isAlone = services.length === 1 && listener.bind !== "" && form === "plain";
  const address = isAlone && isSpecific(listener.bind) ? { address: bracketHost(listener.bind) } : {};
  return [
    ...services.flatMap((service) => {
      const { hostname: name } = service;
      const context = { scope, port, form, ...address };
      const host = attempt(name, () => serviceHost(service, index.rulesFor(name), context), service);
      return host === undefined ? [] : { host, name };
    }),
    ...index.ruleHostsOn(port).flatMap((ruled) => {
      const host = attempt(ruled.host, () => ruleHost(ruled, { scope, port, form }), ruled.rules[0]?.object);
      return host === undefined ? [] : { host, name: ruled.host };
    }),
  ];
}

function isSpecific(bind: string): boolean {
  return bind !== "0.0.0.0" && bind !== "::" && !bind.startsWith("unix://");
}

/** What no other virtual host takes goes to the last one. */
function closed(scope: OutboundScope, candidates: readonly Candidate[]): readonly VirtualHost[] {
  return [...assembleHosts(candidates), catchAllHost(scope)];
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
function allPorts(
  scope: OutboundScope,
  listener: EgressListener | undefined,
  attempt: Attempt,
): readonly VirtualHost[] {
  if (listener === undefined) return [];
  const ports = [80, ...listener.services.flatMap(httpPorts)];
  const candidates = [...new Set(ports)].flatMap((port) =>
    hostsOn(scope, listener, { port, form: port === 80 ? "both" : "with-port", attempt }),
  );
  return closed(scope, candidates);
}

/** A virtual host to be put into a configuration; candidates come in the order in which they win. */
interface Candidate {
  readonly host: VirtualHost;
  /** Its real name, which no short form of another host may take. */
  readonly name: string;
}

/**
 * Gives each domain to one virtual host: Envoy refuses a configuration in which one stands twice. Hosts that are left without domains
 * go. Hosts that keep all of theirs are passed on as the same values, so that their encoding is reused.
 */
function assembleHosts(candidates: readonly Candidate[]): VirtualHost[] {
  const realNames = new Set(candidates.map(({ name }) => name.toLowerCase()));
  const taken = new Set<string>();
  const names = new Set<string>();
  const hosts: VirtualHost[] = [];
  for (const { host, name } of candidates) {
    if (host.name === undefined || names.has(host.name)) continue;
    const own = name.toLowerCase();
    const wanted = host.domains ?? [];
    const domains = wanted.filter((domain) => {
      if (taken.has(domain) || (domain !== own && realNames.has(domain))) return false;
      taken.add(domain);
      return true;
    });
    if (domains.length === 0) continue;
    names.add(host.name);
    hosts.push(domains.length === wanted.length ? host : { ...host, domains });
  }
  return hosts.sort((a, b) => compareText(a.name ?? "", b.name ?? ""));
}

/** Requests for unknown hosts: passed through to where they were meant to go, or refused. */
export function catchAllHost(scope: OutboundScope): VirtualHost {
  const { mode, egressProxy, looksUpHosts = false } = scope.outboundTrafficPolicy;
  const { attemptCount, forwardedHost } = routeHeaders(scope);
  if (mode === "REGISTRY_ONLY") return withoutCount(BLOCK_ALL, attemptCount);
  if (egressProxy === undefined && !forwardedHost && !looksUpHosts) return withoutCount(ALLOW_ANY, attemptCount);
  if (egressProxy !== undefined) {
    const cluster = clusterName("outbound", egressProxy.port?.number ?? 0, egressProxy.subset, egressProxy.host);
    return withoutCount(allowAny(cluster, forwardedHost), attemptCount);
  }
  const host = looksUpHosts
    ? allowAny(UNKNOWN_HOSTS_CLUSTER, forwardedHost, UNKNOWN_HOSTS)
    : allowAny(PASSTHROUGH_CLUSTER, forwardedHost);
  return withoutCount(host, attemptCount);
}

/** What the virtual host of requests to hosts that are looked up is called. */
export const UNKNOWN_HOSTS = "allow_any_dynamic_dns";

/** The host itself, unless the attempt count header is off. */
function withoutCount(host: VirtualHost, attemptCount: boolean): VirtualHost {
  if (attemptCount) return host;
  const { includeRequestAttemptCount: _count, ...silent } = host;
  return silent;
}

function allowAny(cluster: string, appendXForwardedHost = false, name = "allow_any"): VirtualHost {
  const route = { cluster, timeout: "0s", maxGrpcTimeout: "0s", ...(appendXForwardedHost && { appendXForwardedHost }) };
  return {
    name,
    domains: ["*"],
    includeRequestAttemptCount: true,
    routes: [{ name, match: { prefix: "/" }, route }],
  };
}

/** Shared by all proxies, so that they are encoded once. */
const ALLOW_ANY = allowAny(PASSTHROUGH_CLUSTER);
const BLOCK_ALL: VirtualHost = {
  name: "block_all",
  domains: ["*"],
  includeRequestAttemptCount: true,
  routes: [{ name: "block_all", match: { prefix: "/" }, directResponse: { status: 502 } }],
};
