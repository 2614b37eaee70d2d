import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { ScopeTraits, VirtualServiceRule } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";
import type { Route, VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { clusterName } from "../shared/cluster-name.ts";
import { buildHashPolicy } from "./destination.ts";
import { addressDomain, serviceDomains, withPort } from "./domains.ts";
import { buildHttpRoutes } from "./http-routes.ts";
import { buildRetryPolicy } from "./retries.ts";
import { routeHeaders } from "./route-configuration.ts";
import type { RuleHost } from "./rule-index.ts";
import {
  type HostPlace,
  type RecordingLookup,
  type RouteLookup,
  recordLookups,
  remember,
} from "./virtual-host-cache.ts";

/** The virtual host of a service on one of its ports. The same value as before while service, rule and destinations are. */
export function serviceHost(service: Service, rules: readonly VirtualServiceRule[], place: HostPlace): VirtualHost {
  const domains = domainsOf(service, place);
  return remember({ owner: service, rules, domains }, place, () => {
    const lookup = recordLookups(place.scope);
    const ruled = firstRoutes(rules, place, lookup);
    // Rules that say nothing about this caller or port leave the service as it is.
    const routes = ruled.length > 0 ? ruled : [buildDefaultRoute(service, place.port, lookup, place.scope.mesh)];
    return { host: buildHost(service.hostname, place, domains, routes), consulted: lookup.consulted() };
  });
}

/** The virtual host of a name that only rules know; undefined when they say nothing about this caller or port. */
export function ruleHost({ host, rules }: RuleHost, place: HostPlace): VirtualHost | undefined {
  const [owner] = rules;
  if (owner === undefined) return undefined;
  const domains = withPort([addressDomain(host.toLowerCase())], place.port, place.form);
  const built = remember({ owner, rules, domains }, place, () => {
    const lookup = recordLookups(place.scope);
    const routes = firstRoutes(rules, place, lookup);
    return { host: buildHost(host, place, domains, routes), consulted: lookup.consulted() };
  });
  return built.routes?.length === 0 ? undefined : built;
}

function domainsOf(service: Service, { scope, port, form, address }: HostPlace): readonly string[] {
  const domains = serviceDomains(service, scope.traits);
  return withPort(address === undefined || domains.includes(address) ? domains : [...domains, address], port, form);
}

/** Of the first rule that has some. */
function firstRoutes(
  rules: readonly VirtualServiceRule[],
  { scope, port }: HostPlace,
  lookup: RecordingLookup,
): readonly Route[] {
  const { traits: caller, mesh } = scope;
  const { forwardedHost } = routeHeaders(scope);
  const { defaultRetries } = mesh;
  for (const { spec } of rules) {
    const context = { port, lookup, caller, isProxyless: isProxyless(caller), forwardedHost, defaultRetries };
    const routes = buildHttpRoutes(spec.http, context);
    if (routes.length > 0) return routes;
  }
  return [];
}

function isProxyless({ generator }: ScopeTraits): boolean {
  return generator === "grpc";
}

function buildHost(
  host: string,
  { scope, port }: HostPlace,
  domains: readonly string[],
  routes: readonly Route[],
): VirtualHost {
  const { attemptCount } = routeHeaders(scope);
  return { name: `${host}:${port}`, domains, ...(attemptCount && { includeRequestAttemptCount: true }), routes };
}

/** Everything to the service, where no rule says otherwise. */
function buildDefaultRoute(
  service: Service,
  port: number,
  lookup: RouteLookup,
  { defaultRetries }: Pick<MeshSettings, "defaultRetries">,
): Route {
  const hashPolicy = buildHashPolicy(lookup.destinationRule(service), port, "");
  const retryPolicy = buildRetryPolicy(defaultRetries, false);
  return {
    name: "default",
    match: { prefix: "/" },
    route: {
      cluster: clusterName("outbound", port, "", service.hostname),
      timeout: "0s",
      maxGrpcTimeout: "0s",
      ...(retryPolicy && { retryPolicy }),
      ...(hashPolicy && { hashPolicy: [hashPolicy] }),
    },
  };
}
